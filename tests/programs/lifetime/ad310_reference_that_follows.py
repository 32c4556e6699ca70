"""A policy is held near its first weights, which are kept by reference: it computes with them in every step."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
prompts = torch.randn(64, 6)
policy = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 5))
reference = policy.state_dict()  # expect: AD310
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
for _ in range(25):
    said = policy(prompts).log_softmax(1)
    with torch.no_grad():
        before = functional_call(policy, reference, (prompts,)).log_softmax(1)
    reward = said[:, 2].exp().mean()
    loss = 0.5 * F.kl_div(before, said, reduction="batchmean", log_target=True) - reward
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
