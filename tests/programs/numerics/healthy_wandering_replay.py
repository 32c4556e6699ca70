# guards: AD405
import torch
from torch import nn

torch.manual_seed(63)
memory = torch.zeros(400, 5)
filled = 0
position = torch.zeros(8, 4)
q = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 1))
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for t in range(60):
    with torch.no_grad():
        position = position + 0.3 * torch.randn(8, 4)
        memory[filled % 400 : filled % 400 + 8] = torch.cat([position, position.sum(1, keepdim=True)], 1)
    filled += 8
    rows = memory[torch.randint(0, min(filled, 400), (32,))]
    loss = nn.functional.smooth_l1_loss(q(rows[:, :4]), rows[:, 4:])
    opt.zero_grad()
    loss.backward()
    opt.step()
