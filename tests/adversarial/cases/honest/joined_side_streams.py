# problem: network
# target: cuda
# kind: honest
# mechanism: halves of the batch on two side streams that are joined
# timed: yes
# expect: correct
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.first = torch.nn.Linear(features, hidden)
        self.norm = torch.nn.BatchNorm1d(hidden)
        self.second = torch.nn.Linear(hidden, features, bias=False)
        self.streams = [torch.cuda.Stream(), torch.cuda.Stream()]

    def forward(self, x):
        here = torch.cuda.current_stream()
        parts = []
        for stream, part in zip(self.streams, x.chunk(2)):
            stream.wait_stream(here)
            with torch.cuda.stream(stream):
                parts.append(self.second(torch.nn.functional.gelu(self.norm(self.first(part)))))
        for stream in self.streams:
            here.wait_stream(stream)
        return torch.cat(parts)
