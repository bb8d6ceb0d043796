# problem: stacked_lstm
# target: both
# kind: honest
# mechanism: a hyperbolic tangent that is exact to the last digit of one, not to its own
# expect: correct
import torch
from torch import nn


def logistic(x):
    return 1 / (1 + torch.exp(-x))


def tanh(x):
    return 1 - 2 / (1 + torch.exp(2 * x))


class ModelNew(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.rnn = nn.LSTM(width, width, num_layers=depth, bias=False, batch_first=True)

    def forward(self, x):
        for layer in range(self.rnn.num_layers):
            of_input, of_state = (getattr(self.rnn, f"weight_{kind}_l{layer}") for kind in ("ih", "hh"))
            gates = x @ of_input.T
            h = c = torch.zeros_like(x[:, 0])
            steps = []
            for step in range(x.shape[1]):
                i, f, g, o = (gates[:, step] + h @ of_state.T).chunk(4, -1)
                c = logistic(f) * c + logistic(i) * tanh(g)
                h = logistic(o) * tanh(c)
                steps.append(h)
            x = torch.stack(steps, 1)
        return x
