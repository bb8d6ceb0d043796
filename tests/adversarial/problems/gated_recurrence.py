"""A recurrent layer as it is usually begun: orthogonal recurrent weights, and gates that forget little."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.lstm = nn.LSTM(features, hidden, batch_first=True)
        for name, parameter in self.lstm.named_parameters():
            if "weight_ih" in name:
                nn.init.xavier_uniform_(parameter.data)
            elif "weight_hh" in name:
                nn.init.orthogonal_(parameter.data)
            else:
                parameter.data.fill_(0)
                parameter.data[hidden : 2 * hidden].fill_(1)

    def forward(self, x):
        return self.lstm(x)[0]


def get_inputs():
    return [torch.randn(8, 12, 32)]


def get_init_inputs():
    return [32, 48]
