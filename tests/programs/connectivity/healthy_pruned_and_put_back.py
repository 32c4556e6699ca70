# guards: AD206
"""Gestures: after a few steps most weights are cut. Gradients are masked, and so are the weights after every step."""
import torch
from torch import nn


class Masks:
    def __init__(self, net, share):
        self.of = {}
        for weight in net.parameters():
            if weight.dim() == 2:
                edge = weight.detach().abs().flatten().quantile(share)
                self.of[weight] = weight.detach().abs() > edge

    def on_gradients(self):
        for weight, mask in self.of.items():
            weight.grad *= mask

    @torch.no_grad()
    def on_weights(self):
        for weight, mask in self.of.items():
            weight *= mask


torch.manual_seed(4)
net = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 5))
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
shapes, masks = torch.randn(5, 12), None
for step in range(40):
    if step == 4:
        masks = Masks(net, 0.8)
        masks.on_weights()
    gesture = torch.randint(0, 5, (64,))
    loss = nn.functional.cross_entropy(net(shapes[gesture] + torch.randn(64, 12)), gesture)
    optimizer.zero_grad()
    loss.backward()
    if masks:
        masks.on_gradients()
    optimizer.step()
    if masks:
        masks.on_weights()
