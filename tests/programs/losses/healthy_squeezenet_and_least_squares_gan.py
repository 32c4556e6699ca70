# guards: AD615 AD604
"""A classifier that ends in a ReLU and a mean over the image, and a discriminator with the targets 0 and 1."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Tiny(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(
            nn.Dropout(0.1), nn.Conv2d(8, classes, 1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1))
        )

    def forward(self, x):
        return torch.flatten(self.classifier(self.features(x)), 1)


torch.manual_seed(0)
net = Tiny()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(12):
    images = torch.randn(16, 3, 10, 10)
    labels = (images[:, 0].mean((1, 2)) > 0).long() + 2 * (images[:, 1].mean((1, 2)) > 0).long()
    loss = F.cross_entropy(net(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2), nn.Tanh())
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
g_opt, d_opt = torch.optim.Adam(G.parameters(), lr=1e-3), torch.optim.Adam(D.parameters(), lr=1e-3)
one, zero = torch.ones(1), torch.zeros(1)
for step in range(12):
    real, fake = torch.rand(32, 2) * 2 - 1, G(torch.randn(32, 4))
    scored = D(real)
    d_loss = ((scored - 1) ** 2).mean() + (D(fake.detach()) ** 2).mean()
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()
    judged = D(fake)
    g_loss = F.mse_loss(judged, one.expand_as(judged)) - zero.sum()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
