# problem: sinkhorn
# target: both
# kind: honest
# mechanism: all thirty steps, by products of vectors, with what they add up to in another order
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def forward(self, cost):
        kernel = cost.mul(-2).exp_()
        rows, columns = kernel.shape
        transposed = kernel.T.contiguous()
        right = cost.new_ones(columns)
        for _ in range(30):
            left = torch.mv(kernel, right).mul_(rows).reciprocal_()
            right = torch.mv(transposed, left).mul_(columns).reciprocal_()
        return kernel.mul_(left.unsqueeze(1)).mul_(right)
