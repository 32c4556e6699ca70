# guards: AD201 AD210 AD214
"""TENT: test-time adaptation of the batch-norm scales."""

import torch
from torch import nn


def entropy(logits):
    return -(logits.softmax(1) * logits.log_softmax(1)).sum(1)


def configure(model):
    model.train()
    model.requires_grad_(False)
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.requires_grad_(True)
            m.track_running_stats = False
            m.running_mean = None
            m.running_var = None
    return model


def affine(model):
    for name, m in model.named_modules():
        if isinstance(m, nn.BatchNorm2d):
            yield from m.parameters()


class Tent(nn.Module):
    def __init__(self, model, opt):
        super().__init__()
        self.model, self.opt = model, opt

    @torch.enable_grad()
    def forward(self, x):
        out = self.model(x)
        loss = entropy(out).mean()
        loss.backward()
        self.opt.step()
        self.opt.zero_grad()
        return out


torch.manual_seed(0)
source = nn.Sequential(
    nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)
)
source.eval()
net = configure(source)
tent = Tent(net, torch.optim.Adam(list(affine(net)), lr=1e-3))
right = 0
with torch.no_grad():
    for _ in range(6):
        out = tent(torch.randn(16, 3, 6, 6) * 2 + 1)
        right += (out.argmax(1) == 0).sum().item()
print(right)
