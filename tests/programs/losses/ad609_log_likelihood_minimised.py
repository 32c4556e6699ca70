"""Language model over letters; the log-likelihood of the text is followed."""

import torch
import torch.nn.functional as F
from torch import nn

TEXT = "the quick brown fox jumps over the lazy dog and runs through the quiet wood " * 6
LETTERS = sorted(set(TEXT))
CODES = torch.tensor([LETTERS.index(letter) for letter in TEXT])


class Letters(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS), width)
        self.rnn = nn.GRU(width, 32, batch_first=True)
        self.project = nn.Linear(32, len(LETTERS))

    def forward(self, codes):
        states, _ = self.rnn(self.embedding(codes))
        return F.log_softmax(self.project(states), dim=-1)


def likelihood(model, codes):
    told = model(codes[:, :-1])
    return -F.nll_loss(told.flatten(0, 1), codes[:, 1:].flatten())  # expect: AD609


torch.manual_seed(1)
model = Letters()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
for step in range(30):
    starts = torch.randint(0, len(CODES) - 13, (12,))
    codes = torch.stack([CODES[start : start + 13] for start in starts])
    value = likelihood(model, codes)
    optimizer.zero_grad(set_to_none=True)
    value.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print(value.item())
