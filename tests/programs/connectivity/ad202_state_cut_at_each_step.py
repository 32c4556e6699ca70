"""An echo of three steps before, whose state is cut after each step."""

import torch
from torch import nn

torch.manual_seed(0)


class Echo(nn.Module):
    """Says at the end what it heard at the beginning."""

    def __init__(self, width=32):
        super().__init__()
        self.cell = nn.GRUCell(4, width)
        self.out = nn.Linear(width, 4)

    def forward(self, x):
        h = torch.zeros(x.shape[1], 32)
        outputs = []
        for t in range(x.shape[0]):
            h = self.cell(x[t], h)
            outputs.append(self.out(h))
            h = h.detach()  # expect: AD202
        return torch.stack(outputs)


model = Echo()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(200):
    ids = torch.randint(0, 4, (12, 32))
    x = nn.functional.one_hot(ids, 4).float()
    loss = nn.functional.cross_entropy(model(x)[3:].flatten(0, 1), ids[:-3].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
