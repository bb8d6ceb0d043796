# problem: hinge
# target: both
# kind: honest
# mechanism: what is one or minus one in every draw decides between two sums
# expect: correct
# finding: input_structure
import torch


class ModelNew(torch.nn.Module):
    def forward(self, scores, signs):
        return torch.relu(torch.where(signs > 0, 1 - scores, 1 + scores)).mean()
