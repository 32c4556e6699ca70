# guards: AD638
"""Two views are to agree, which goes backward by itself; the outputs are much the same because the targets are."""

import torch
from torch import nn

torch.manual_seed(2)


class Thermostat(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.Tanh())
        self.rooms = nn.Linear(32, 6)

    def forward(self, x):
        return self.rooms(self.body(x))


model = Thermostat()
teacher = Thermostat()
teacher.load_state_dict(model.state_dict())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(80):
    outside = torch.randn(48, 10)
    rooms = 20 + 0.01 * outside[:, :1] + 0.01 * torch.randn(48, 6)
    unlabelled = torch.randn(48, 10)
    optimizer.zero_grad()
    nn.functional.mse_loss(model(outside), rooms / 20).backward()
    jittered = model(unlabelled + 0.1 * torch.randn_like(unlabelled))
    nn.functional.mse_loss(jittered, model(unlabelled)).backward()
    with torch.no_grad():
        followed = teacher(unlabelled)
    (0.5 * nn.functional.mse_loss(model(unlabelled), followed)).backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), model.parameters(), strict=True):
            slow.lerp_(fast, 0.05)
