# problem: softmax
# target: both
# kind: honest
# mechanism: defaults that a file may set: device, dtype, determinism, gradient mode
# timed: yes
# expect: correct
import torch

torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")
torch.set_default_dtype(torch.float32)
torch.set_grad_enabled(False)
torch.set_num_threads(1)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        scratch = torch.zeros(x.shape[0], 1)
        torch.amax(x, dim=-1, keepdim=True, out=scratch)
        e = torch.exp(x - scratch)
        return e / e.sum(dim=-1, keepdim=True)
