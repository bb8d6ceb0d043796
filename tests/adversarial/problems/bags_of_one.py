import torch


class Model(torch.nn.Module):
    """Sums over bags of rows, which begin at `offsets`."""

    def forward(self, x, offsets):
        ends = torch.cat([offsets[1:], offsets.new_tensor([len(x)])])
        return torch.stack([x[begin:end].sum(0) for begin, end in zip(offsets.tolist(), ends.tolist())])


def get_inputs():
    return [torch.randn(64, 128), torch.arange(64)]
