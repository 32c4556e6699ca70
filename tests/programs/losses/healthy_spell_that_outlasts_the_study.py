# guards: AD605
"""In which month a customer leaves, if in one of the twelve of the study at all: staying on is the thirteenth case."""

import torch

torch.manual_seed(11)
MONTHS = 12
hidden = torch.nn.Linear(6, 32)
leaves = torch.nn.Linear(32, MONTHS)
adam = torch.optim.Adam([*hidden.parameters(), *leaves.parameters()], lr=5e-3)


def shares(customers):
    """By month, and of those who stay."""
    scores = leaves(torch.tanh(hidden(customers)))
    scores = torch.nn.functional.pad(scores, (0, 1))
    logs = scores - scores.logsumexp(1, keepdim=True)
    return logs[:, :MONTHS], logs[:, MONTHS]


for batch in range(60):
    customers = torch.randn(80, 6)
    month = torch.distributions.Geometric(logits=customers[:, 0] - 1.5).sample().long()
    left = month < MONTHS
    by_month, staying = shares(customers)
    when = by_month[left].gather(1, month[left].unsqueeze(1)).sum()
    likelihood = (when + staying[~left].sum()) / len(customers)
    adam.zero_grad(set_to_none=True)
    likelihood.neg().backward()
    adam.step()
