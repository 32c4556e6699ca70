# guards: AD216 AD201
"""Super-resolution with a perceptual loss: target features under no_grad, prediction features through the frozen net with a graph."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class FeatureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 8, 3, stride=2, padding=1)])
        self.eval()
        for p in self.parameters():
            p.requires_grad = False

    def forward(self, x):
        feats = []
        for l in self.layers:
            x = F.relu(l(x))
            feats.append(x)
        return feats


class Perceptual(nn.Module):
    def __init__(self, net, weights=(0.5, 1.0)):
        super().__init__()
        self.net, self.weights = net, weights

    def forward(self, sr, hr):
        with torch.no_grad():
            target = self.net(hr)
        return sum(w * F.l1_loss(a, b) for w, a, b in zip(self.weights, self.net(sr), target))


class SR(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, 4, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x):
        return self.body(x) + F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


torch.manual_seed(0)
perceptual, model = Perceptual(FeatureNet()), SR()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for it in range(30):
    k = torch.rand(8, 1, 1, 1) * 3 + 1
    g = torch.linspace(0, 3, 16)
    hr = torch.sin(k * g.view(1, 1, 16, 1)) * torch.sin(k * g.view(1, 1, 1, 16) + k)
    sr = model(F.avg_pool2d(hr, 2))
    loss = F.l1_loss(sr, hr) + perceptual(sr, hr)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, loss.item())
