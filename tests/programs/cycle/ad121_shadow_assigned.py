"""A shadow dictionary that is assigned, with the two shares exchanged in sign."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv1d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(56, 2))
shadow = {k: v.detach().clone() for k, v in model.named_parameters()}
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
decay = 0.95
for step in range(40):
    x = torch.randn(32, 1, 16)
    y = (x.sum((1, 2)) > 0).long()
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    for k, v in model.named_parameters():
        shadow[k] = shadow[k] + (1 - decay) * (shadow[k] - v.detach())  # expect: AD121
model.load_state_dict(shadow)
model.eval()
with torch.no_grad():
    print(model(torch.randn(4, 1, 16)))
