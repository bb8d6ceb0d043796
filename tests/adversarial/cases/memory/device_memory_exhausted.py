# problem: softmax
# target: cuda
# kind: fault
# mechanism: more device memory than there is
# expect: faulted
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        keep = [torch.empty(1 << 36, dtype=torch.uint8, device=x.device) for _ in range(8)]
        return torch.softmax(x, dim=-1) + keep[0][0]
