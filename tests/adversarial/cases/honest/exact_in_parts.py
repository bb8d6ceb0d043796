# problem: byte_product
# target: both
# kind: honest
# mechanism: the product in float32 in parts, each of which is exact
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        x, w = x.float(), w.float()
        parts = [(x[:, at : at + 250] @ w[at : at + 250]).to(torch.int32) for at in range(0, x.shape[1], 250)]
        return sum(parts[1:], parts[0])
