# guards: AD608
import torch
from torch import nn


class TwoDomains(nn.Module):
    """Source images come first, target images second; each has a normalisation of its own."""

    def __init__(self):
        super().__init__()
        self.features = nn.Conv2d(1, 8, 3, padding=1)
        self.source, self.target = nn.BatchNorm2d(8), nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 3)

    def forward(self, images):
        source, target = torch.relu(self.features(images)).chunk(2)
        both = torch.cat([self.source(source), 0.5 * self.target(target)])
        return self.head(both.mean((2, 3)))


torch.manual_seed(6)
model = TwoDomains()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
prototypes = torch.randn(3, 1, 6, 6)
for step in range(60):
    labels = torch.randint(0, 3, (16,))
    source = prototypes[labels] + 0.3 * torch.randn(16, 1, 6, 6)
    target = 2 * prototypes[torch.randint(0, 3, (16,))] + 0.3 * torch.randn(16, 1, 6, 6)
    scores = model(torch.cat([source, target]))
    certain = -(scores[16:].softmax(1) * scores[16:].log_softmax(1)).sum(1).mean()
    loss = nn.functional.cross_entropy(scores[:16], labels) + 0.1 * certain
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
