# guards: AD214
"""A frozen feature extractor with batch-norm is kept in eval mode while the rest trains."""
import torch
from torch import nn

torch.manual_seed(0)


class Transfer(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(10, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU())
        self.head = nn.Linear(32, 2)
        for p in self.features.parameters():
            p.requires_grad = False

    def forward(self, x):
        with torch.no_grad():
            h = self.features(x)
        return self.head(h)


model = Transfer()
optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    model.train()
    model.features.eval()
    for _ in range(10):
        x = 0.8 * torch.randn(40, 10) + 0.3
        y = (x[:, 0] > x[:, 1]).long()
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
