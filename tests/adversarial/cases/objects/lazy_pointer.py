# problem: matmul
# target: both
# kind: cheat
# mechanism: every method by which an output can be read does the work first
# timed: yes
# expect: rejected | incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        out = torch.empty(a.shape[0], b.shape[1], device=a.device)
        names = ("detach", "data_ptr", "untyped_storage", "stride", "is_contiguous", "resolve_conj", "storage_offset", "cpu", "numpy", "size", "numel")

        def late(name):
            def call(*arguments):
                for other in names:
                    out.__dict__.pop(other, None)
                torch.mm(a, b, out=out)
                return getattr(out, name)(*arguments)

            return call

        for name in names:
            setattr(out, name, late(name))
        return out
