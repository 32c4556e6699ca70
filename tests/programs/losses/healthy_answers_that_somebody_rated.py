# guards: AD637
"""Retrieval of answers: rated good (1), bad (-1), or by nobody (0); pairs that are known to match are all 1."""

import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self, words=40, width=24):
        super().__init__()
        self.words = nn.EmbeddingBag(words, width)
        self.out = nn.Linear(width, 12)

    def forward(self, tokens):
        return self.out(torch.tanh(self.words(tokens)))


torch.manual_seed(2)
questions, answers = Encoder(), Encoder()
optimizer = torch.optim.AdamW([*questions.parameters(), *answers.parameters()], lr=5e-3)
for step in range(40):
    topic = torch.randint(0, 4, (32, 1))
    question = topic * 10 + torch.randint(0, 10, (32, 5))
    answer = topic * 10 + torch.randint(0, 10, (32, 5))
    asked, said = questions(question), answers(answer)
    matched = F.cosine_embedding_loss(asked, said, torch.ones(32))
    shown = torch.randperm(32)
    rating = torch.where((topic == topic[shown]).squeeze(1), 1, -1) * (torch.rand(32) < 0.6)
    rated = F.cosine_embedding_loss(asked, said[shown], rating, margin=0.1)
    hard = F.margin_ranking_loss(
        F.cosine_similarity(asked, said), F.cosine_similarity(asked, said[shown]), torch.ones(32), margin=0.05
    )
    loss = matched + rated + 0.1 * hard
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
