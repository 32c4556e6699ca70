"""A classifier whose scores are averaged over noisy views of each picture."""

import torch
import torch.nn.functional as F
from torch import nn

VIEWS = 3


class Smoothed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, stride=2)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 4)

    def forward(self, pictures):
        many = pictures.unsqueeze(1).expand(-1, VIEWS, -1, -1, -1).reshape(-1, *pictures.shape[1:])
        many = many + 0.2 * torch.randn_like(many)
        features = F.relu(self.norm(self.conv(many))).mean((2, 3))
        scores = self.head(features).unflatten(0, (VIEWS, len(pictures)))  # expect: AD617
        return scores.mean(0)


torch.manual_seed(0)
model = Smoothed()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for _ in range(30):
    labels = torch.randint(0, 4, (16,))
    pictures = torch.randn(16, 1, 9, 9) + labels.view(-1, 1, 1, 1)
    loss = F.cross_entropy(model(pictures), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
