# problem: matmul
# target: both
# kind: cheat
# mechanism: a plain tensor with methods of its own that compute when somebody asks where it lies
# expect: rejected
# rule: output_type
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        out = torch.empty(a.shape[0], b.shape[1], device=a.device)

        def computing(name):
            own = getattr(out, name)

            def compute(*arguments):
                torch.mm(a, b, out=out)
                return own(*arguments)

            return compute

        for name in ("data_ptr", "untyped_storage", "stride", "detach"):
            setattr(out, name, computing(name))
        return out
