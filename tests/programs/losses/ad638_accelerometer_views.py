"""Self-supervised pretraining on accelerometer windows: two jittered views, a projector, a predictor, cosine loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Windows(torch.utils.data.Dataset):
    def __init__(self, n=1024, length=48):
        kind = torch.randint(0, 5, (n, 1, 1))
        t = torch.linspace(0, 6.28, length)
        axis = torch.arange(3).view(1, 3, 1)
        self.x = torch.sin((kind + 1) * t + axis * kind) + 0.3 * torch.randn(n, 3, length)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        w = self.x[i]
        return w + 0.1 * torch.randn_like(w), w * (0.8 + 0.4 * torch.rand(3, 1))


class Branches(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(3, 16, 5, stride=2), nn.ReLU(), nn.Conv1d(16, 32, 5, stride=2), nn.ReLU())
        self.project = nn.Linear(32, width)
        self.predict = nn.Sequential(nn.Linear(width, 16), nn.ReLU(), nn.Linear(16, width))

    def encode(self, x):
        return self.project(self.body(x).mean(-1))

    def forward(self, one, two):
        z1, z2 = self.encode(one), self.encode(two)
        p1, p2 = self.predict(z1), self.predict(z2)
        similarity = F.cosine_similarity(p1, z2) + F.cosine_similarity(p2, z1)  # expect: AD638
        return -0.5 * similarity.mean()


torch.manual_seed(3)
loader = torch.utils.data.DataLoader(Windows(), batch_size=64, shuffle=True, drop_last=True)
net = Branches()
optim = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
for epoch in range(4):
    for one, two in loader:
        optim.zero_grad()
        loss = net(one, two)
        loss.backward()
        optim.step()
    print(epoch, loss.item())
