# guards: AD632 AD618
"""Topics of short texts: codes are drawn, and the bound holds their log-probabilities, which learn by both ways."""

import math

import torch
from torch import nn
from torch.distributions import Bernoulli


class Topics(nn.Module):
    def __init__(self, words, topics):
        super().__init__()
        self.read = nn.Sequential(nn.Linear(words, 24), nn.Softplus(), nn.Linear(24, topics))
        self.write = nn.Linear(topics, words)

    def bound(self, texts):
        belief = Bernoulli(logits=self.read(texts))
        topics = belief.sample()
        said = belief.log_prob(topics).sum(dim=1)
        told = (texts * self.write(topics).log_softmax(dim=1)).sum(dim=1)
        before = topics.shape[1] * math.log(0.5)
        return said, said - before - told


def surrogate(said, free_energy):
    """Its value is the free energy, its gradient that of the expectation."""
    one = torch.exp(said - said.detach())
    return (one * free_energy + (1 - one) * free_energy.mean().detach()).mean()


torch.manual_seed(0)
habits = torch.rand(4, 15).pow(4)
model = Topics(15, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(50):
    texts = torch.poisson((torch.rand(48, 4) > 0.5).float() @ habits)
    loss = surrogate(*model.bound(texts))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
