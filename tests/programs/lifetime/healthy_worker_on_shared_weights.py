# guards: AD310
"""An actor has parameters of its own in the storage of the learner's, as workers on shared memory have: what it loads
before each rollout is there already, and its gradients are the learner's."""

import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.scores, self.value = nn.Linear(4, 16), nn.Linear(16, 2), nn.Linear(16, 1)

    def forward(self, state):
        hidden = torch.tanh(self.body(state))
        return self.scores(hidden), self.value(hidden).squeeze(-1)


torch.manual_seed(0)
learner, actor = Policy(), Policy()
for mine, shared in zip(actor.parameters(), learner.parameters()):
    mine.data = shared.data
optimizer = torch.optim.RMSprop(learner.parameters(), lr=1e-3)

for rollout in range(8):
    actor.load_state_dict(learner.state_dict())
    state = torch.randn(16, 4)
    scores, value = actor(state)
    chosen = Categorical(logits=scores)
    action = chosen.sample()
    reward = (action == (state[:, 0] > 0)).float()
    loss = (reward - value).pow(2).mean() - (chosen.log_prob(action) * (reward - value.detach())).mean()
    actor.zero_grad()
    loss.backward()
    for shared, mine in zip(learner.parameters(), actor.parameters()):
        shared.grad = mine.grad
    optimizer.step()
