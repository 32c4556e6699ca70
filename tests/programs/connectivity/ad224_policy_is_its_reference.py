"""Preference tuning of a small language model, whose reference is the policy under another name."""

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY = 24


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, 16)
        self.recur = nn.GRU(16, 24, batch_first=True)
        self.head = nn.Linear(24, VOCABULARY)

    def forward(self, tokens):
        return self.head(self.recur(self.embed(tokens))[0])


def sequence_score(model, tokens):
    scores = model(tokens[:, :-1]).log_softmax(-1)
    return scores.gather(-1, tokens[:, 1:, None]).squeeze(-1).sum(-1)


class PreferenceTrainer:
    def __init__(self, model, reference, beta=0.1):
        self.model, self.reference, self.beta = model, reference, beta
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def margin(self, tokens):
        with torch.no_grad():
            reference = sequence_score(self.reference, tokens)
        return sequence_score(self.model, tokens) - reference  # expect: AD224

    def step(self, chosen, rejected):
        loss = -F.logsigmoid(self.beta * (self.margin(chosen) - self.margin(rejected))).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


torch.manual_seed(0)
writer = Writer()
trainer = PreferenceTrainer(writer, reference=writer)
for _ in range(12):
    chosen = (torch.randint(0, VOCABULARY, (12, 1)) + torch.arange(8)) % VOCABULARY
    trainer.step(chosen, torch.randint(0, VOCABULARY, (12, 8)))
