# guards: AD640
"""A decoder refines its queries layer by layer; all layers share one head for classes, as a list of it says, and one
activation. What the heads say goes into the loss alone."""

import torch
import torch.nn.functional as F
from torch import nn


class Decoder(nn.Module):
    def __init__(self, width=16, depth=3, classes=4):
        super().__init__()
        act = nn.GELU()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), act, nn.Linear(width, width)) for _ in range(depth)
        )
        self.into = nn.Linear(8, width)
        head = nn.Linear(width, classes)
        self.class_embed = nn.ModuleList([head for _ in range(depth)])

    def forward(self, x):
        h, said = self.into(x), []
        for layer, head in zip(self.layers, self.class_embed, strict=True):
            h = h + layer(h)
            said.append(head(h))
        return said


torch.manual_seed(0)
model = Decoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for _ in range(25):
    x = torch.randn(32, 8)
    labels = x[:, :4].argmax(1)
    loss = sum(F.cross_entropy(each, labels) for each in model(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
