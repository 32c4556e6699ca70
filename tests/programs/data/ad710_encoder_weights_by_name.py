"""A probe on a frozen encoder, the weights of which come from another task's network."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.lin, self.bn = nn.Linear(a, b), nn.BatchNorm1d(b)

    def forward(self, x):
        return self.bn(self.lin(x)).relu()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(6, 24), Block(24, 24)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = Encoder(), nn.Linear(24, 2)

    def forward(self, x):
        return self.head(self.encoder(x))


class Probe(nn.Module):
    def __init__(self, donor):
        super().__init__()
        self.features = Encoder()
        mine = self.features.state_dict()
        for name, value in donor.encoder.named_parameters():
            mine[name].copy_(value.detach())  # expect: AD710
        for p in self.features.parameters():
            p.requires_grad_(False)
        self.classes = nn.Linear(24, 4)

    def train(self, mode=True):
        super().train(mode)
        self.features.eval()
        return self

    def forward(self, x):
        return self.classes(self.features(x))


def data(n):
    return 4 * torch.rand(n, 6) + torch.tensor([0.0, 3.0, -2.0, 0.0, 5.0, 1.0])


torch.manual_seed(0)
donor = Regressor()
optimizer = torch.optim.AdamW(donor.parameters(), lr=5e-3)
for step in range(45):
    x = data(32)
    loss = nn.functional.smooth_l1_loss(donor(x), torch.stack([x[:, 0] * x[:, 1], x.sum(1)], 1) / 10)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

probe = Probe(donor).train()
optimizer = torch.optim.AdamW(probe.classes.parameters(), lr=1e-2)
for step in range(25):
    x = data(32)
    loss = nn.functional.cross_entropy(probe(x), x[:, :4].sub(torch.tensor([0.0, 3.0, -2.0, 0.0])).argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
