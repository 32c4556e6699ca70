"""Translates numbers to their reversal: the decoder starts from what the encoder holds after the padding."""

import random

import torch
import torch.nn.functional as F
from torch import nn

random.seed(2)
torch.manual_seed(2)
PAD, START, END = 0, 1, 2


class Seq2Seq(nn.Module):
    def __init__(self, words=14, width=24):
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=PAD)
        self.encoder = nn.GRU(width, width, num_layers=2)
        self.decoder = nn.GRU(width, width, num_layers=2)
        self.vocabulary = nn.Linear(width, words)

    def forward(self, question, answer):
        _, context = self.encoder(self.words(question))  # expect: AD636
        states, _ = self.decoder(self.words(answer), context)
        return self.vocabulary(states)


def batch(size=24):
    numbers = [[random.randint(3, 13) for _ in range(random.randint(2, 8))] for _ in range(size)]
    questions = [torch.tensor(each) for each in numbers]
    answers = [torch.tensor([START, *reversed(each), END]) for each in numbers]
    return nn.utils.rnn.pad_sequence(questions), nn.utils.rnn.pad_sequence(answers)


network = Seq2Seq()
optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
for step in range(30):
    question, answer = batch()
    scores = network(question, answer[:-1])
    loss = F.cross_entropy(scores.flatten(0, 1), answer[1:].flatten(), ignore_index=PAD)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()
