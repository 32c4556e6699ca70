# guards: AD224
"""The ratio of a sequence for each of its tokens: detached, with the gradient of the token's own score added to it."""

import torch
from torch import nn

torch.manual_seed(0)
embed, recur, head = nn.Embedding(12, 16), nn.GRU(16, 24, batch_first=True), nn.Linear(24, 12)
model = nn.ModuleList([embed, recur, head])
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def scores(tokens):
    return head(recur(embed(tokens[:, :-1]))[0]).log_softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)


@torch.no_grad()
def write(n=24, length=8):
    tokens = torch.randint(0, 12, (n, 1))
    for _ in range(length):
        chances = head(recur(embed(tokens))[0][:, -1]).softmax(-1)
        tokens = torch.cat([tokens, torch.multinomial(chances, 1)], dim=1)
    return tokens


for group in range(10):
    tokens = write()
    gains = (tokens[:, 1:] < 4).float().mean(1)
    gains = ((gains - gains.mean()) / (gains.std() + 1e-4))[:, None]
    with torch.no_grad():
        old = scores(tokens)
    for update in range(3):
        now = scores(tokens)
        of_sequence = (now - old).mean(1, keepdim=True).detach()
        ratio = torch.exp(of_sequence + (now - now.detach()))
        loss = -torch.min(ratio * gains, ratio.clamp(0.97, 1.03) * gains).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
