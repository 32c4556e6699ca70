"""A frozen backbone stays in the optimizer with all other parameters."""
import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
head = nn.Linear(32, 5)
model = nn.Sequential(backbone, head)
backbone.requires_grad_(False)  # expect: AD206

opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
centers = torch.randn(5, 20)

for step in range(28):
    y = torch.randint(0, 5, (40,))
    x = centers[y] + torch.randn(40, 20)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 7 == 0:
        print(step, round(loss.item(), 3))
