"""Q-learning on a ring of states: gradients are to be clipped element by element before the step."""

import torch
from torch import nn

torch.manual_seed(0)
STATES = 12
net, target = (nn.Sequential(nn.Linear(STATES, 32), nn.ReLU(), nn.Linear(32, 2)) for _ in range(2))
target.load_state_dict(net.state_dict())
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
rows = torch.eye(STATES)


def clip_all(parameters, bound):
    for parameter in parameters:
        parameter.grad.clamp(-bound, bound)  # expect: AD514


for update in range(60):
    state, action = torch.randint(STATES, (32,)), torch.randint(2, (32,))
    after = (state + 2 * action - 1) % STATES
    reward = (after == 0).float()
    with torch.no_grad():
        wanted = reward + 0.9 * (1 - reward) * target(rows[after]).max(1).values
    chosen = net(rows[state]).gather(1, action[:, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(chosen, wanted)
    optimizer.zero_grad()
    loss.backward()
    clip_all(net.parameters(), 0.01)
    optimizer.step()
    if update % 10 == 9:
        target.load_state_dict(net.state_dict())
