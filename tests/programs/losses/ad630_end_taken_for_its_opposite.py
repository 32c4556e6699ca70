import random

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
target_net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
target_net.load_state_dict(net.state_dict())
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
memory = [
    (torch.randn(4), random.randrange(2), random.random(), torch.randn(4), float(random.random() < 0.1))
    for _ in range(300)
]
for step in range(12):
    s, a, r, n, d = zip(*random.sample(memory, 32))
    s, n = torch.stack(s), torch.stack(n)
    a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d)
    q = net(s).gather(1, a[:, None]).squeeze(1)
    with torch.no_grad():
        target = r + 0.99 * d * target_net(n).max(1).values  # expect: AD630
    loss = nn.functional.smooth_l1_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
