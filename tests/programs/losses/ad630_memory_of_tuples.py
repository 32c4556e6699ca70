import random
import torch
from torch import nn
random.seed(0)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
frozen = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
frozen.load_state_dict(net.state_dict())
memory, state = [], torch.randn(3)
for _ in range(300):
    action = random.randrange(2)
    after = state + 0.3 * torch.randn(3) + 0.1 * action
    over = random.random() < 0.15
    memory.append((state, action, -after.norm().item(), after, float(over)))
    state = torch.randn(3) if over else after
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for update in range(12):
    batch = random.sample(memory, 64)
    states = torch.stack([b[0] for b in batch])
    actions = torch.tensor([b[1] for b in batch])
    rewards = torch.tensor([b[2] for b in batch])
    following = torch.stack([b[3] for b in batch])
    done = torch.tensor([b[4] for b in batch])
    with torch.no_grad():
        best = frozen(following).max(1)[0]
        target = rewards + done * 0.95 * best  # expect: AD630
    loss = nn.functional.smooth_l1_loss(net(states).gather(1, actions[:, None])[:, 0], target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
