# guards: AD216 AD217
"""Two critics under one `vmap`, whose targets come from an actor without gradients; one backward for all losses."""

import torch
from torch import nn
from torch.func import functional_call, stack_module_state

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
critics = [nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)) for _ in range(2)]
stacked, _ = stack_module_state(critics)
weights = {name: nn.Parameter(value.detach()) for name, value in stacked.items()}
targets = {name: value.detach().clone() for name, value in weights.items()}
base = critics[0].to("meta")


def q(params, x):
    return torch.vmap(lambda own, x: functional_call(base, own, (x,)), (0, None))(params, x).squeeze(-1)


optimizers = [torch.optim.Adam(actor.parameters(), 3e-4), torch.optim.Adam(weights.values(), 3e-4)]
for step in range(40):
    state, action, after, reward = torch.randn(64, 3), torch.randn(64, 1), torch.randn(64, 3), torch.randn(64)
    with torch.no_grad():
        following = q(targets, torch.cat([after, actor(after)], -1)).min(0)[0]
        target = reward + 0.9 * following
    q_loss = (q(weights, torch.cat([state, action], -1)) - target).square().sum(0).mean()
    frozen = {name: value.detach() for name, value in weights.items()}
    actor_loss = -q(frozen, torch.cat([state, actor(state)], -1)).min(0)[0].mean()
    (actor_loss + q_loss).backward()
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        for name in targets:
            targets[name].lerp_(weights[name], 0.01)
