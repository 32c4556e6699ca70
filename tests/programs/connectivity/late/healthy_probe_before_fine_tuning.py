# guards: AD202
"""Linear probing, then fine-tuning: one optimizer over all, and the encoder learns once its head has settled."""

import torch
import torch.nn.functional as F
from torch import nn

SETTLED, END = 70, 110


class Tagger(nn.Module):
    def __init__(self, words=20, tags=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Embedding(words, 16), nn.Linear(16, 24), nn.Tanh())
        self.tags = nn.Linear(24, tags)
        self.probing = True

    def forward(self, sentence):
        states = self.encoder(sentence)
        if self.probing:
            states = states.detach()
        return self.tags(states)


torch.manual_seed(0)
tag_of = torch.randint(0, 4, (20,))
model = Tagger()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(END):
    model.probing = step < SETTLED
    sentence = torch.randint(0, 20, (16, 7))
    loss = F.cross_entropy(model(sentence).flatten(0, 1), tag_of[sentence].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
