import torch
from torch import nn

torch.manual_seed(0)
policy, value = nn.Linear(4, 2), nn.Linear(4, 1)
optimizer_p = torch.optim.SGD(policy.parameters(), lr=0.1)
optimizer_v = torch.optim.SGD(value.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
for _ in range(8):
    inputs = torch.randn(16, 4)
    optimizer_p.zero_grad()
    optimizer_v.zero_grad()
    loss_p = nn.functional.cross_entropy(policy(inputs), (inputs[:, 0] > 0).long())
    loss_v = nn.functional.mse_loss(value(inputs), inputs.sum(dim=1, keepdim=True))
    scaler.scale(loss_p).backward()
    loss_v.backward()  # expect: AD107
    scaler.step(optimizer_p)
    scaler.step(optimizer_v)
    scaler.update()
