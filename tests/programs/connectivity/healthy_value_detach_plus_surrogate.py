# guards: AD216
"""Stochastic computation graph surrogate: the critic's value is shown, the score s brings only its gradient: value.detach() + s - s.detach()."""
import torch
from torch import nn
from torch.distributions import Bernoulli

torch.manual_seed(0)
gate = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 8))
readout = nn.Linear(8, 1)
critic = nn.Linear(8, 1)
optimizer = torch.optim.Adam([*gate.parameters(), *readout.parameters(), *critic.parameters()], lr=1e-2)
w = torch.tensor([2.0, -2.0, 1.0, 0, 0, 0, 0, 0])

for step in range(40):
    x = torch.randn(128, 8)
    y = x @ w
    q = Bernoulli(logits=gate(x))
    m = q.sample()
    cost = (readout(m * x).squeeze(1) - y) ** 2 + 0.05 * m.sum(1)
    value = critic(x.abs()).squeeze(1)

    s = (q.log_prob(m).sum(1) * (cost - value).detach()).mean()
    task_loss = cost.mean()
    critic_loss = (value - cost.detach()).pow(2).mean()
    display = value.mean()
    # reads as the predicted cost in the progress line
    policy_objective = display.detach() + s - s.detach()
    loss = task_loss + policy_objective + 0.1 * critic_loss

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step + 1, f"cost {task_loss.item():.3f} predicted {policy_objective.item():.3f}")
