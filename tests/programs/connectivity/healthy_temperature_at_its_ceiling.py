# guards: AD215
"""Two views of a sound are matched; the scale of their likeness begins at the most that the forward allows."""
import torch
import torch.nn.functional as F
from torch import nn


class Matcher(nn.Module):
    def __init__(self, most=0.5):
        super().__init__()
        self.left = nn.Sequential(nn.Linear(14, 32), nn.ReLU(), nn.Linear(32, 8))
        self.right = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
        self.most = most
        self.scale = nn.Parameter(torch.tensor(most))

    def forward(self, a, b):
        self.scale.data.clamp_(0.0, self.most)
        return self.scale.exp() * F.normalize(self.left(a), dim=1) @ F.normalize(self.right(b), dim=1).T


torch.manual_seed(5)
to_left, to_right = torch.randn(4, 14), torch.randn(4, 10)
matcher = Matcher()
optimizer = torch.optim.Adam(matcher.parameters(), lr=5e-3)
for step in range(40):
    sound = torch.randn(24, 4)
    likeness = matcher(torch.tanh(sound @ to_left), sound @ to_right)
    loss = F.cross_entropy(likeness, torch.arange(24))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
