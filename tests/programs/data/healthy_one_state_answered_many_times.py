# guards: AD715
"""Group-relative policy gradients: one start, sixteen answers to it, and a leash to what the policy was at first."""
import copy

import torch
from torch import nn

ANSWERS = 16


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 6))

    def forward(self, state):
        return self.layers(state).log_softmax(-1)


torch.manual_seed(8)
policy = Policy()
at_first = copy.deepcopy(policy).requires_grad_(False).eval()
opt = torch.optim.Adam(policy.parameters(), lr=5e-3)
for _ in range(50):
    state = torch.randn(6)
    group = torch.stack([state] * ANSWERS)
    scores = policy(group)
    with torch.no_grad():
        answers = torch.multinomial(scores.exp(), 1)
        rewards = group.gather(1, answers).squeeze(1)
        gain = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
        before = at_first(group)
    leash = nn.functional.kl_div(scores, before, log_target=True, reduction="batchmean")
    loss = 0.05 * leash - (gain * scores.gather(1, answers).squeeze(1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
