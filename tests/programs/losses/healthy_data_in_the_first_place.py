# guards: AD612
"""Losses between data and what learns whose first argument holds the data, and that is meant."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
noisy, first, second = nn.Linear(6, 1), nn.Linear(6, 1), nn.Linear(6, 1)
saliency, sparse, judge = nn.Linear(6, 10), nn.Linear(6, 12), nn.Linear(6, 1)
labels = nn.Parameter(torch.zeros(32, 1))
books = nn.Embedding(8, 6)
encoder = nn.Linear(6, 6)


def adam(*learns):
    return torch.optim.Adam([weight for one in learns for weight in one], lr=1e-2)


of_noisy, of_pair = adam(noisy.parameters()), adam(first.parameters(), second.parameters())
of_saliency, of_sparse, of_labels = adam(saliency.parameters()), adam(sparse.parameters()), adam([labels])
of_codes = adam(books.parameters(), encoder.parameters())
prior = torch.softmax(torch.linspace(-1, 1, 10), 0)


def learn(loss, optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for step in range(12):
    x = torch.randn(32, 6)
    soft = torch.sigmoid(x[:, :1] + 0.3 * torch.randn(32, 1))

    # Labels that may be wrong: a cross entropy, and the reverse one, which forgives.
    p = noisy(x).sigmoid()
    learn(F.binary_cross_entropy(p, soft) + 0.2 * F.binary_cross_entropy(soft.clamp(1e-4, 1 - 1e-4), p), of_noisy)

    # Two networks that teach one another.
    one, other = first(x).sigmoid(), second(x).sigmoid()
    own = F.binary_cross_entropy(one, soft) + F.binary_cross_entropy(other, soft)
    learn(own + F.binary_cross_entropy(one, other.detach()) + F.binary_cross_entropy(one.detach(), other), of_pair)

    # A distribution drawn to a given one: its cross entropy, less its own entropy.
    share = saliency(x).sigmoid()
    entropy = F.binary_cross_entropy(share, share)
    learn(F.binary_cross_entropy(prior.expand(32, 10), share) - entropy, of_saliency)

    # Gates that are closed: what they cost under a constant prior.
    on = sparse(x).sigmoid()
    learn(F.binary_cross_entropy(torch.full_like(on, 0.05), on), of_sparse)

    # Labels that learn, of a network that does not.
    guess = judge(x).sigmoid().detach()
    learn(F.binary_cross_entropy(guess, labels.sigmoid()), of_labels)

    # Codes of a book, and what is to stay near them.
    code = encoder(x)
    near = books.weight[torch.cdist(code, books.weight).argmin(1)]
    learn(F.mse_loss(x, code) + F.mse_loss(code.detach(), near) + F.mse_loss(near.detach(), code), of_codes)
