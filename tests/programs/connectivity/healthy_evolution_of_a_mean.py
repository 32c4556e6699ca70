# guards: AD206
"""Evolution of weights: the mean of the population lies in a vector, its gradient is an estimate by antithetic noise,
and Adam steps it. Then a head is tuned on what the policy gives."""

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).requires_grad_(False)
mean = nn.Parameter(parameters_to_vector(policy.parameters()), requires_grad=False)
optimizer = torch.optim.Adam([mean], lr=0.05)


def value(vector):
    vector_to_parameters(vector, policy.parameters())
    x = torch.randn(128, 4)
    return -(policy(x) - x[:, :2]).square().mean()


for step in range(30):
    noise = torch.randn(8, mean.numel())
    gains = torch.stack([value(mean + 0.1 * one) - value(mean - 0.1 * one) for one in noise])
    mean.grad = -(gains[:, None] * noise).mean(0) / 0.2
    optimizer.step()

head = nn.Linear(2, 1)
tuner = torch.optim.SGD(head.parameters(), lr=0.05)
for step in range(20):
    x = torch.randn(64, 4)
    loss = nn.functional.mse_loss(head(policy(x)), x[:, :1])
    tuner.zero_grad()
    loss.backward()
    tuner.step()
