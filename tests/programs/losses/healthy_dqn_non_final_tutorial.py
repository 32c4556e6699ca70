# guards: AD630
import random
from collections import deque, namedtuple

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
policy_net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
target_net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
target_net.load_state_dict(policy_net.state_dict())
optimizer = torch.optim.AdamW(policy_net.parameters(), lr=1e-3, amsgrad=True)
memory = deque([], maxlen=2000)


def optimize_model():
    if len(memory) < 64:
        return
    batch = Transition(*zip(*random.sample(memory, 64)))
    non_final_mask = torch.tensor(tuple(map(lambda s: s is not None, batch.next_state)), dtype=torch.bool)
    non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
    state_batch = torch.cat(batch.state)
    action_batch = torch.cat(batch.action)
    reward_batch = torch.cat(batch.reward)
    state_action_values = policy_net(state_batch).gather(1, action_batch)
    next_state_values = torch.zeros(64)
    with torch.no_grad():
        next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
    expected_state_action_values = (next_state_values * 0.99) + reward_batch
    loss = nn.SmoothL1Loss()(state_action_values, expected_state_action_values.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()


state = torch.randn(1, 4)
for step in range(200):
    with torch.no_grad():
        greedy = policy_net(state).max(1).indices.view(1, 1)
    action = greedy if random.random() > 0.3 else torch.tensor([[random.randrange(2)]])
    reward = torch.tensor([float(action.item() == int(state[0, 0] > 0))])
    following = None if random.random() < 0.1 else 0.9 * state + 0.4 * torch.randn(1, 4)
    memory.append(Transition(state, action, following, reward))
    state = torch.randn(1, 4) if following is None else following
    optimize_model()
    for p, q in zip(policy_net.parameters(), target_net.parameters()):
        q.data.lerp_(p.data, 0.01)
