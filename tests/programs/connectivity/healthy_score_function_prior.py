# guards: AD216 AD218
"""Binary codes learned by their score: the log-probability of a code under a fixed prior is shown as part of the bound."""
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

torch.manual_seed(0)
to_code, to_data = nn.Linear(12, 5), nn.Linear(5, 12)
optimizer = torch.optim.Adam([*to_code.parameters(), *to_data.parameters()], lr=0.01)
patterns = (torch.rand(6, 12) < 0.5).float()
prior = torch.full((5,), -0.4)


def log_likelihood(logits, bits):
    return -binary_cross_entropy_with_logits(logits.expand_as(bits), bits, reduction="none").sum(1)


for step in range(40):
    x = patterns[torch.randint(0, 6, (64,))]
    logits = to_code(x)
    code = torch.bernoulli(torch.sigmoid(logits.detach()))
    log_q = log_likelihood(logits, code)
    bound = log_likelihood(to_data(code), x) + log_likelihood(prior, code) - log_q
    advantage = (bound - bound.mean()).detach()
    loss = -(bound + advantage * log_q).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(bound.mean().item())
