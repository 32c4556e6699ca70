import torch
from torch import nn


class Ensemble(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.members = [
            nn.Sequential(
                nn.Conv1d(1, 4, 3),
                nn.BatchNorm1d(4),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(40, 2),
            )
            for _ in range(n)
        ]

    def forward(self, x):
        return torch.stack([m(x) for m in self.members]).mean(0)


torch.manual_seed(0)
model = Ensemble(2)
opt = torch.optim.SGD([p for m in model.members for p in m.parameters()], 0.05)
vx = torch.randn(32, 1, 12)
vy = vx.sum((1, 2)).gt(0).long()
for epoch in range(4):
    model.train()
    for _ in range(5):
        x = torch.randn(16, 1, 12)
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), x.sum((1, 2)).gt(0).long()).backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        print((model(vx).argmax(1) == vy).float().mean().item())  # expect: AD211
