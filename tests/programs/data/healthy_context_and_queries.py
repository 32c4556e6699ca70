# guards: AD708
"""A field known at some points is asked at others: both sets are drawn, and the model is told where it is asked."""
import torch
from torch import nn


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 16))
        self.decode = nn.Sequential(nn.Linear(17, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, known, asked):
        code = self.encode(known).mean(1, keepdim=True).expand(-1, asked.shape[1], -1)
        return self.decode(torch.cat([code, asked.unsqueeze(-1)], -1)).squeeze(-1)


torch.manual_seed(0)
places = torch.rand(64, 50)
heights = torch.sin(6 * places + 3 * torch.rand(64, 1))
model = Field()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(40):
    rows = torch.randint(0, 64, (16,))
    x, y = places[rows], heights[rows]
    known, asked = torch.rand(16, 50).argsort(1)[:, :10], torch.rand(16, 50).argsort(1)[:, :20]
    context = torch.stack([x.gather(1, known), y.gather(1, known)], -1)
    loss = nn.functional.mse_loss(model(context, x.gather(1, asked)), y.gather(1, asked))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
