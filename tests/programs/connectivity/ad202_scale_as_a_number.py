import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
log_scale = nn.Parameter(torch.zeros(()))
optimizer = torch.optim.Adam([*model.parameters(), log_scale], lr=0.05)
x = torch.randn(32, 4)
y = x.sum(1, keepdim=True) + 0.3 * torch.randn(32, 1)
for _ in range(8):
    scale = log_scale.add(1.37).exp().item()  # expect: AD202
    loss = ((model(x) - y) / scale).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
