"""A regression of yields whose average of weights stands in for them while it is validated."""
import copy

import torch
from torch import nn


class Averaged(nn.Module):
    def __init__(self, net, decay=0.9):
        super().__init__()
        self.net = net
        self.shadow = copy.deepcopy(net).requires_grad_(False)
        self.decay = decay
        self.kept = None

    @torch.no_grad()
    def follow(self):
        for slow, fast in zip(self.shadow.parameters(), self.net.parameters()):
            slow.lerp_(fast, 1 - self.decay)

    def eval(self):
        if self.training:
            for fast, slow in zip(self.net.parameters(), self.shadow.parameters()):
                fast.data.copy_(slow.data)  # <- AD126
        return super().eval()

    def forward(self, x):
        return self.net(x)


torch.manual_seed(5)
truth = torch.randn(6, 1)
soil = torch.randn(320, 6)
yields = soil @ truth + (soil[:, :1] * soil[:, 1:2]) + 0.05 * torch.randn(320, 1)
train_x, train_y, test_x, test_y = soil[:256], yields[:256], soil[256:], yields[256:]
model = Averaged(nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1)))
optimizer = torch.optim.Adam(model.net.parameters(), lr=0.01)
for epoch in range(5):
    model.train()
    for rows in torch.randperm(256).split(32):
        loss = nn.functional.mse_loss(model(train_x[rows]), train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.follow()
    model.eval()
    with torch.no_grad():
        print(epoch, nn.functional.mse_loss(model(test_x), test_y).item())
