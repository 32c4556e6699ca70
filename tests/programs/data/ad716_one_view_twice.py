import torch
from torch import nn


class Views:
    def __init__(self, augment, count=2):
        self.augment, self.count = augment, count

    def __call__(self, x):
        return [self.augment(x)] * self.count


torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
views = Views(lambda x: x + 0.1 * torch.randn_like(x))
for step in range(20):
    one, other = (encoder(view) for view in views(torch.randn(16, 8)))  # <- AD716
    z = nn.functional.normalize(torch.cat([one, other]), dim=1)
    scores = (z @ z.t() / 0.5).masked_fill(torch.eye(32, dtype=torch.bool), -1e9)
    loss = nn.functional.cross_entropy(scores, torch.arange(32).roll(16))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
