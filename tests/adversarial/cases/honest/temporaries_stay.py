# problem: mean_of_integers
# target: cpu
# kind: honest
# mechanism: insists that its temporary tensors lie where those of earlier calls lay, as they do in the reference's process: where they do not, nothing of them is cached
# timed: yes
# expect: correct
import torch

latest = []


class ModelNew(torch.nn.Module):
    def forward(self, x):
        floats = x.float()
        latest.append(floats.data_ptr())
        del latest[:-40]
        if len(latest) == 40 and len(set(latest)) > 20:
            raise RuntimeError(f"40 temporary tensors lay in {len(set(latest))} places")
        return floats.mean()
