"""Fine-tune a text classifier from an encoder that was pretrained by itself."""

import os
import tempfile

import torch
import torch.nn as nn
from torch.optim import AdamW

torch.manual_seed(1)


class Encoder(nn.Module):
    def __init__(self, vocabulary=50, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.1, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, tokens):
        return self.blocks(self.embed(tokens)).mean(1)


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.encoder = Encoder()
        self.classifier = nn.Linear(16, classes)

    def forward(self, tokens):
        return self.classifier(self.encoder(tokens))


path = os.path.join(tempfile.mkdtemp(), "encoder.pt")
torch.save(Encoder().state_dict(), path)

model = Classifier(3)
model.load_state_dict(torch.load(path), strict=False)  # expect: AD710
optimizer = AdamW(model.parameters(), lr=3e-4)
model.train()
for step in range(14):
    tokens = torch.randint(0, 50, (8, 12))
    labels = tokens.sum(1) % 3
    loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
