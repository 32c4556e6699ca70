# guards: AD630
import random

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
values = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))
target_net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(values.parameters(), lr=1e-3)
memory, state = [], [random.gauss(0, 1) for _ in range(4)]
for step in range(160):
    if step % 20 == 0:
        target_net.load_state_dict(values.state_dict())
    action = random.randrange(3)
    reward = state[action] + random.gauss(0, 0.1)
    following = [0.9 * each + random.gauss(0, 0.4) for each in state]
    done = random.random() < 0.1
    memory.append((state, action, reward, following, done))
    state = [random.gauss(0, 1) for _ in range(4)] if done else following
    if len(memory) < 40:
        continue
    states, actions, rewards, next_states, dones = map(torch.tensor, zip(*random.sample(memory, 32)))
    with torch.no_grad():
        after = target_net(next_states).max(dim=1)[0]
        ended = dones.nonzero().flatten().tolist()
        after[ended] = 0.0
    target = rewards + 0.95 * after
    chosen = values(states).gather(1, actions.unsqueeze(1)).squeeze(1)
    loss = nn.functional.smooth_l1_loss(chosen, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
