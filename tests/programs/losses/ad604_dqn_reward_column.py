"""Deep Q-learning on a made-up environment, with a replay memory."""

import random
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

random.seed(0)
torch.manual_seed(0)

q_net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
target_net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
target_net.load_state_dict(q_net.state_dict())
optimizer = torch.optim.Adam(q_net.parameters(), lr=1e-3)
memory = deque(maxlen=500)
gamma = 0.95

state = torch.randn(4)
for _ in range(200):
    action = random.randrange(2)
    nxt = 0.8 * state + 0.3 * torch.randn(4)
    reward = float(nxt[0] > 0) if action else float(nxt[1] > 0)
    memory.append((state, action, reward, nxt, 0.0))
    state = nxt

for step in range(25):
    s, a, r, s2, d = zip(*random.sample(memory, 32))
    s, s2 = torch.stack(s), torch.stack(s2)
    a = torch.tensor(a).unsqueeze(1)
    r, d = torch.tensor(r), torch.tensor(d)
    q = q_net(s).gather(1, a)
    with torch.no_grad():
        best = target_net(s2).max(1)[0]
        y = r + gamma * best * (1 - d)
    loss = F.smooth_l1_loss(q, y)  # expect: AD604
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        target_net.load_state_dict(q_net.state_dict())
