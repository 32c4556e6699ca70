"""Tags for documents: a bag of words and one output for each tag."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, vocab, tags):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, 32)
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, tags)
        self.act = nn.Sigmoid()

    def forward(self, words):
        z = self.norm(self.bag(words))
        return self.act(self.head(z))  # expect: AD602


def train(model, batches, criterion, optimizer):
    model.train()
    total = 0.0
    for words, tags in batches:
        loss = criterion(model(words), tags)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(batches)


torch.manual_seed(11)
table = (torch.rand(50, 6) > 0.7).float()
batches = []
for _ in range(12):
    words = torch.randint(50, (24, 5))
    batches.append((words, table[words].amax(1)))
model = Tagger(50, 6)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    print(epoch, train(model, batches, criterion, optimizer))
