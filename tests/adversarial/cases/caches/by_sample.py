# problem: matmul
# target: both
# kind: cheat
# mechanism: outputs are kept by a fingerprint of a few elements of the inputs
# expect: incorrect
# why: inputs that differ only where the fingerprint does not look have other outputs
import torch

known = {}


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        key = tuple(a[::121, ::107].flatten().tolist()), tuple(b[::113, ::101].flatten().tolist())
        if key not in known:
            known[key] = a @ b
        return known[key].clone()
