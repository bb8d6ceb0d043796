# problem: longest_run
# target: both
# kind: fault
# mechanism: a run is counted when another token comes, which never happens to the last one; integers alone, of which no draw but the problem's own differs
# expect: incorrect
import torch


class ModelNew(torch.nn.Module):
    def forward(self, tokens):
        run = torch.ones_like(tokens[:, 0])
        longest = torch.zeros_like(run)
        for at in range(1, tokens.shape[1]):
            ends = tokens[:, at] != tokens[:, at - 1]
            longest = torch.where(ends, torch.maximum(longest, run), longest)
            run = torch.where(ends, 1, run + 1)
        return longest
