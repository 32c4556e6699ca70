# guards: AD635
"""A flotilla: boats 0 and 1 lead, and each boat follows the one on the side that its own state tells of."""
import torch
from torch import nn

torch.manual_seed(14)
BOATS = 24
state, pull = nn.Linear(4, 12), nn.Linear(12, 12)
steer = nn.Sequential(nn.ReLU(), nn.Linear(12, 1))
optimizer = torch.optim.Adam([*state.parameters(), *pull.parameters(), *steer.parameters()], lr=5e-3)
for _ in range(40):
    seen = torch.randn(BOATS, 4)
    seen[0, 0], seen[1, 0] = -1.0, 1.0
    hidden = torch.tanh(state(seen))
    turned = pull(hidden)
    side = (turned.detach()[:, 0] > turned.detach()[:, 0].median()).long()
    follows = hidden[side] - turned
    wanted = seen[(seen[:, 0] > 0).long(), 1] - seen[:, 1]
    loss = nn.functional.mse_loss(steer(follows).squeeze(1), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
