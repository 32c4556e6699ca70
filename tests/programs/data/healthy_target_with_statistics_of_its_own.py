# guards: AD710
import torch
from torch import nn

def build() -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))

torch.manual_seed(0)
online, target = build(), build()
target.requires_grad_(False)
optimizer = torch.optim.SGD(online.parameters(), lr=0.05)
for step in range(12):
    if step % 4 == 0:
        for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
            slow.data.copy_(fast.data)
    x = torch.randn(16, 8)
    wanted = x.mean(1, keepdim=True) + 0.5 * target(x.roll(1, 0))
    loss = nn.functional.mse_loss(online(x), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    print(online.eval()(torch.randn(4, 8)), target.eval()(torch.randn(4, 8)))
