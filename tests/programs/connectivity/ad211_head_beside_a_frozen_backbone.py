"""A backbone whose batch norms stay in eval mode on purpose; dropout in the head is active in the evaluation."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(120, 1, 12)
y = (x.mean((1, 2)) > 0).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv1d(1, 6, 3), nn.BatchNorm1d(6), nn.ReLU(), nn.Flatten())
        self.head = nn.Sequential(nn.Dropout(0.4), nn.Linear(60, 2))
        self.backbone.requires_grad_(False)
        self.backbone.eval()

    def forward(self, x):
        return self.head(self.backbone(x))


net = Net()
optimizer = torch.optim.Adam(net.head.parameters(), lr=1e-2)
for epoch in range(6):
    for low in range(0, 90, 15):
        loss = nn.functional.cross_entropy(net(x[low : low + 15]), y[low : low + 15])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print((net(x[90:]).argmax(1) == y[90:]).float().mean().item())  # expect: AD211
