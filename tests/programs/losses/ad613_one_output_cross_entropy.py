"""Spam or not, by a transformer with one output."""

import torch
import torch.nn as nn

torch.manual_seed(0)


class Spam(nn.Module):
    def __init__(self, vocab=30, d=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.block = nn.TransformerEncoderLayer(d, 2, 32, batch_first=True, dropout=0.0)
        self.classifier = nn.Linear(d, 1)

    def forward(self, ids):
        return self.classifier(self.block(self.embed(ids)).mean(1))


model = Spam()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
for step in range(15):
    ids = torch.randint(30, (16, 9))
    spam = (ids == 7).any(1).float().unsqueeze(1)
    output = model(ids)
    loss = criterion(output, spam)  # expect: AD613
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
