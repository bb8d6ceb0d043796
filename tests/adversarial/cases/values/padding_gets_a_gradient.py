# problem: padded_words_training
# target: both
# kind: fault
# mechanism: the gradient of the words' table has that of the padding word, which stays without
# expect: incorrect
# why: one draw in 150 has the padding word in it, and outputs are right in any case
import torch


class Sums(torch.autograd.Function):
    @staticmethod
    def forward(ctx, table, tokens):
        ctx.save_for_backward(table, tokens)
        return table[tokens].sum(1)

    @staticmethod
    def backward(ctx, upstream):
        table, tokens = ctx.saved_tensors
        rows = upstream[:, None].expand(*tokens.shape, -1).flatten(0, 1)
        return torch.zeros_like(table).index_add_(0, tokens.flatten(), rows), None


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(20000, 16, padding_idx=0)

    def forward(self, tokens):
        return torch.tanh(Sums.apply(self.words.weight, tokens))
