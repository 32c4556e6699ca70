"""A language model takes three steps on each group of completions, and scores them anew for its reference in each."""

import copy

import torch
from torch import nn

VOCABULARY, PROMPT, LENGTH = 20, 4, 8


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, 16)
        self.recur = nn.GRU(16, 24, batch_first=True)
        self.head = nn.Linear(24, VOCABULARY)

    def forward(self, tokens):
        return self.head(self.recur(self.embed(tokens))[0])


def token_scores(model, tokens):
    scores = model(tokens[:, :-1])[:, PROMPT - 1 :].log_softmax(-1)
    return scores.gather(-1, tokens[:, PROMPT:, None]).squeeze(-1)


@torch.no_grad()
def complete(model, prompts):
    tokens = prompts
    for _ in range(LENGTH):
        chances = model(tokens)[:, -1].softmax(-1)
        tokens = torch.cat([tokens, torch.multinomial(chances, 1)], dim=1)
    return tokens


def reward(tokens):
    return (tokens[:, PROMPT:] % 2 == 0).float().mean(1)


torch.manual_seed(0)
writer = Writer()
frozen = copy.deepcopy(writer).requires_grad_(False)
optimizer = torch.optim.AdamW(writer.parameters(), lr=2e-3)
for _ in range(8):
    prompts = torch.randint(0, VOCABULARY, (4, PROMPT)).repeat_interleave(4, dim=0)
    tokens = complete(writer, prompts)
    gained = reward(tokens).view(4, 4)
    advantages = ((gained - gained.mean(1, keepdim=True)) / (gained.std(1, keepdim=True) + 1e-4)).view(-1, 1)
    mask = (tokens[:, PROMPT:] != 0).float()
    with torch.no_grad():
        frozen_scores = token_scores(frozen, tokens)
    for iteration in range(3):
        scores = token_scores(writer, tokens)
        with torch.no_grad():
            old_scores = token_scores(writer, tokens)
        ratio = torch.exp(scores - old_scores)  # expect: AD224
        clipped = torch.clamp(ratio, 0.8, 1.2)
        per_token = -torch.min(ratio * advantages, clipped * advantages)
        apart = frozen_scores - scores
        per_token = per_token + 0.04 * (apart.exp() - apart - 1)
        loss = (per_token * mask).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
