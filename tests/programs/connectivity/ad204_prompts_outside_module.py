"""Prompt tuning of a frozen encoder; the prompts live outside of the module that is given to the optimizer."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.classify = nn.Linear(16, 2)

    def forward(self, x):
        return self.classify(self.layer(x)[:, 0])


class Prompted:
    def __init__(self, encoder, n):
        self.encoder = encoder
        self.prompts = nn.Parameter(0.02 * torch.randn(n, 16))
        encoder.layer.requires_grad_(False)

    def __call__(self, x):
        return self.encoder(torch.cat([self.prompts.expand(len(x), -1, -1), x], 1))


torch.manual_seed(0)
model = Prompted(Encoder(), 3)
trainable = [p for p in model.encoder.parameters() if p.requires_grad]
opt = torch.optim.Adam(trainable, lr=1e-2)  # expect: AD204
for step in range(8):
    x = torch.randn(8, 5, 16)
    loss = nn.functional.cross_entropy(model(x), (x.mean((1, 2)) > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
