"""Texts whose length is to grow from stage to stage; the collate function cuts them."""
import torch
from torch import nn
from torch.utils.data import DataLoader


class Cut:
    def __init__(self, length):
        self.length = length

    def __call__(self, texts):
        return torch.stack([text[: self.length] for text in texts])


class Letters(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 16)
        self.recurrent = nn.GRU(16, 16, batch_first=True)
        self.head = nn.Linear(16, 12)

    def forward(self, tokens):
        return self.head(self.recurrent(self.embedding(tokens))[0])


torch.manual_seed(0)
texts = (torch.arange(32)[None] * torch.randint(1, 6, (64, 1)) + torch.randint(12, (64, 1))) % 12
cut = Cut(8)
batches = DataLoader(texts, 16, shuffle=True, collate_fn=cut, num_workers=1, persistent_workers=True)
model = Letters()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for length in (8, 16, 32):
    cut.length = length  # expect: AD727
    for tokens in batches:
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
