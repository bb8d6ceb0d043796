# problem: gated_recurrence
# target: cpu
# kind: honest
# mechanism: orthogonal weights and biases of gates are packed when the module is built
# expect: correct
import torch
from torch import nn


class ModelNew(nn.Module):
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
        with torch.no_grad():
            self.from_input = self.lstm.weight_ih_l0.t().contiguous()
            self.from_hidden = self.lstm.weight_hh_l0.t().contiguous()
            self.bias = self.lstm.bias_ih_l0 + self.lstm.bias_hh_l0

    def forward(self, x):
        batch, steps, features = x.shape
        given = torch.addmm(self.bias, x.transpose(0, 1).reshape(-1, features), self.from_input).view(steps, batch, -1)
        hidden = cell = x.new_zeros(batch, self.from_hidden.shape[0])
        outputs = []
        for step in given:
            let_in, kept, new, shown = torch.addmm(step, hidden, self.from_hidden).chunk(4, 1)
            cell = torch.sigmoid(kept) * cell + torch.sigmoid(let_in) * torch.tanh(new)
            hidden = torch.sigmoid(shown) * torch.tanh(cell)
            outputs.append(hidden)
        return torch.stack(outputs, 1)
