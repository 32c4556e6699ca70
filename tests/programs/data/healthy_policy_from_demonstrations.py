# guards: AD710
"""A policy that was cloned from demonstrations lends its small torso to an actor and critic with large heads."""

import torch
from torch import nn

torch.manual_seed(5)
clone = nn.ModuleDict({"torso": nn.Linear(6, 10), "imitate": nn.Sequential(nn.Linear(10, 30), nn.Linear(30, 30))})
agent = nn.ModuleDict({
    "torso": nn.Linear(6, 10),
    "actor": nn.Sequential(nn.Linear(10, 50), nn.ReLU(), nn.Linear(50, 3)),
    "critic": nn.Sequential(nn.Linear(10, 50), nn.ReLU(), nn.Linear(50, 1)),
})
agent.load_state_dict(clone.state_dict(), strict=False)
optimizer = torch.optim.Adam(agent.parameters(), lr=2e-3)
for _ in range(24):
    seen = torch.randn(24, 6)
    inner = torch.relu(agent["torso"](seen))
    actions = torch.distributions.Categorical(logits=agent["actor"](inner))
    chosen = actions.sample()
    reward = (chosen == seen[:, :3].argmax(1)).float()
    value = agent["critic"](inner).squeeze(1)
    gain = (reward - value).detach()
    loss = -(actions.log_prob(chosen) * gain).mean() + (value - reward).square().mean() - 0.01 * actions.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
