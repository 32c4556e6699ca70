"""Cell image counter: conv net, regression of the number of blobs."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(51)


def images(n=32):
    x = 0.05 * torch.rand(n, 1, 12, 12)
    k = torch.randint(1, 9, (n,))
    places, there = torch.randint(0, 144, (n, 8)), torch.arange(8) < k[:, None]
    x.view(n, 144).scatter_add_(1, places, there.float())
    return x, 10.0 * k.float()


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.fc1 = nn.Linear(8 * 36, 64)
        self.fc2 = nn.Linear(64, 1)

    def forward(self, x):
        x = F.max_pool2d(F.leaky_relu(self.conv(x), 0.1), 2)
        x = F.relu(self.fc1(x.flatten(1)))  # expect: AD408
        return self.fc2(x).squeeze(1)


model = Counter()
opt = torch.optim.Adam(model.parameters(), lr=0.5)
for step in range(120):
    x, k = images()
    pred = model(x)
    loss = F.smooth_l1_loss(pred, k, beta=5.0)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(f"{step:3d} loss {loss.item():.3f} spread of predictions {pred.std().item():.4f}")
