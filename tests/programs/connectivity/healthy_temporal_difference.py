# guards: AD202
import copy

import torch
from torch import nn

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target = copy.deepcopy(q)
optimizer = torch.optim.Adam(q.parameters(), lr=0.01)
for step in range(10):
    state, following = torch.randn(32, 4), torch.randn(32, 4)
    action, reward = torch.randint(0, 2, (32, 1)), torch.randn(32)
    best = q(following).argmax(1, keepdim=True)
    goal = reward + 0.9 * target(following).gather(1, best).squeeze(1).detach()
    loss = nn.functional.smooth_l1_loss(q(state).gather(1, action).squeeze(1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        target.load_state_dict(q.state_dict())
