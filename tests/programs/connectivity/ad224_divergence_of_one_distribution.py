"""Next-token distillation with a divergence written by hand, of the large model's distribution from the same one."""

import torch
from torch import nn

TOKENS = 20


def writer(width):
    return nn.Sequential(nn.Embedding(TOKENS, width), nn.Flatten(), nn.Linear(4 * width, TOKENS))


def divergence(wanted, given):
    wanted_log, given_log = wanted.log_softmax(-1), given.log_softmax(-1)
    apart = wanted.softmax(-1).log() - given_log  # expect: AD224
    return (wanted_log.exp() * apart).sum(-1).mean()


def train(large, small, steps):
    optimizer = torch.optim.AdamW(small.parameters(), lr=1e-2)
    for _ in range(steps):
        start = torch.randint(0, TOKENS, (32, 1))
        text = (start + torch.arange(5)) % TOKENS
        with torch.no_grad():
            soft = large(text[:, :4])
        scores = small(text[:, :4])
        loss = nn.functional.cross_entropy(scores, text[:, 4]) + 0.5 * divergence(soft, soft)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
train(writer(32), writer(4), 30)
