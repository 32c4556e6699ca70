# guards: AD402
import torch
from torch import nn

torch.manual_seed(9)
body, head = nn.Linear(5, 16), nn.Linear(16, 2)
opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=1e-2)
for step in range(26):
    x = torch.randn(16, 5)
    h = torch.relu(body(x))
    h.register_hook(lambda g: g / g.abs().amax(1, keepdim=True).clamp_min(1e-12))
    keep = torch.ones(16) if step < 17 else (torch.arange(16) > 2).float()
    loss = (nn.functional.cross_entropy(head(h), (x[:, 0] > 0).long(), reduction="none") * keep).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
