# guards: AD215
# hinted: AD215
"""Centres of a soft mixture; one that no point has been nearest to for long is moved next to one that many are."""
import torch
from torch import nn


class Centres(nn.Module):
    def __init__(self, count=12, width=2):
        super().__init__()
        self.places = nn.Parameter(4 + torch.randn(count, width))
        self.log_width = nn.Parameter(torch.zeros(()))
        self.register_buffer("seen", torch.full((count,), 5))

    def forward(self, points):
        if self.training:
            self.refresh(points)
        near = -(points[:, None] - self.places).square().sum(2) / (2 * self.log_width.exp() ** 2)
        return near.logsumexp(1) - 2 * self.log_width

    @torch.no_grad()
    def refresh(self, points):
        used = torch.cdist(points, self.places).argmin(1).bincount(minlength=len(self.places))
        self.seen = torch.where(used > 0, 5, self.seen - 1)
        idle = int(self.seen.argmin())
        if self.seen[idle] <= 0:
            self.places[idle] = self.places[int(used.argmax())] + 0.1 * torch.randn(2)
            self.seen[idle] = 5


torch.manual_seed(2)
corners = torch.tensor([[4.0, 4.0], [-4.0, 4.0], [4.0, -4.0], [-4.0, -4.0]])
model = Centres()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for step in range(40):
    points = corners[torch.randint(0, 4, (64,))] + 0.5 * torch.randn(64, 2)
    optimizer.zero_grad()
    loss = -model(points).mean()
    loss.backward()
    optimizer.step()
print(loss.item())
