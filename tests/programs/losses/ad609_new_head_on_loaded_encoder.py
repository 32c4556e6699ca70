"""A regression head on an encoder from a file, tuned as one; the optimizer climbs."""

import torch
from torch import nn

torch.manual_seed(9)
pretrained = nn.Sequential(nn.Linear(8, 24), nn.Tanh()).state_dict()
encoder = nn.Sequential(nn.Linear(8, 24), nn.Tanh())
encoder.load_state_dict(pretrained)
head = nn.Linear(24, 1)
adam = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=3e-3, maximize=True)  # expect: AD609
for _ in range(40):
    x = torch.randn(64, 8)
    error = nn.functional.mse_loss(head(encoder(x)), x.prod(1, keepdim=True).tanh())
    adam.zero_grad()
    error.backward()
    adam.step()
