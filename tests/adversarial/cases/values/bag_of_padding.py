# problem: mean_of_words
# target: both
# kind: fault
# mechanism: divides by the number of words in a bag, which is zero where all of it is padding
# expect: incorrect
# why: of twelve words in a thousand, all are padding once in 10^36 draws
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.EmbeddingBag(1000, 64, mode="mean", padding_idx=0)

    def forward(self, bags):
        counts = (bags != 0).unsqueeze(-1)
        return (self.words.weight[bags] * counts).sum(1) / counts.sum(1)
