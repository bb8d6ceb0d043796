# problem: several_largest
# target: both
# kind: fault
# mechanism: only what is larger than the ninth number is taken, so that places stay empty where it is as large as the eighth
# expect: incorrect
# why: where several are equal their places are anybody's choice, and their values are not
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        values, places = x.topk(9, -1)
        is_larger = values[:, :8] > values[:, 8:]
        return values[:, :8].where(is_larger, -torch.inf), places[:, :8].where(is_larger, 0)
