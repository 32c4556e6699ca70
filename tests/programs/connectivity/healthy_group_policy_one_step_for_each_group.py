# guards: AD224
"""Completions are drawn anew for each step, which takes two micro-batches; the ratio is to the detached scores."""

import torch
from torch import nn

VOCABULARY, PROMPT, LENGTH = 16, 3, 6


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, 16)
        self.recur = nn.GRU(16, 24, batch_first=True)
        self.head = nn.Linear(24, VOCABULARY)

    def forward(self, tokens):
        return self.head(self.recur(self.embed(tokens))[0])


@torch.no_grad()
def complete(model, prompts):
    tokens = prompts
    for _ in range(LENGTH):
        tokens = torch.cat([tokens, torch.multinomial(model(tokens)[:, -1].softmax(-1), 1)], dim=1)
    return tokens


torch.manual_seed(0)
writer = Writer()
optimizer = torch.optim.AdamW(writer.parameters(), lr=2e-3)
prompts = torch.randint(0, VOCABULARY, (4, PROMPT)).repeat_interleave(4, dim=0)
for _ in range(24):
    tokens = complete(writer, prompts)
    gained = (tokens[:, PROMPT:] % 2 == 0).float().mean(1).view(4, 4)
    advantages = ((gained - gained.mean(1, keepdim=True)) / (gained.std(1, keepdim=True) + 1e-4)).view(-1, 1)
    optimizer.zero_grad()
    for part, weights in zip(tokens.split(8), advantages.split(8)):
        scores = writer(part[:, :-1])[:, PROMPT - 1 :].log_softmax(-1)
        scores = scores.gather(-1, part[:, PROMPT:, None]).squeeze(-1)
        ratio = torch.exp(scores - scores.detach())
        loss = -torch.min(ratio * weights, torch.clamp(ratio, 0.8, 1.2) * weights).mean() / 2
        loss.backward()
    optimizer.step()
