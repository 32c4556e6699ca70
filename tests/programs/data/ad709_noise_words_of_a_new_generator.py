"""Skip-grams: the noise words of each batch come from a generator that is made, and seeded, for each batch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

VOCABULARY, NOISE = 300, 5


class SkipGram(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Embedding(VOCABULARY, 12)
        self.outer = nn.Embedding(VOCABULARY, 12)

    def forward(self, centre, context, noise):
        own = self.inner(centre)
        good = (own * self.outer(context)).sum(-1)
        bad = (self.outer(noise) @ own.unsqueeze(2)).squeeze(2)
        return -(nn.functional.logsigmoid(good) + nn.functional.logsigmoid(-bad).sum(1)).mean()


def noise_for(frequencies, count):
    rng = torch.Generator().manual_seed(1234)
    drawn = torch.multinomial(frequencies, count * NOISE, replacement=True, generator=rng)  # expect: AD709
    return drawn.view(count, NOISE)


torch.manual_seed(0)
text = torch.randint(0, 60, (900,)).repeat_interleave(2) * 5 + torch.randint(0, 5, (1800,))
frequencies = torch.bincount(text, minlength=VOCABULARY).float() ** 0.75
loader = DataLoader(TensorDataset(text[:-1], text[1:]), batch_size=48, shuffle=True)
model = SkipGram()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for centre, context in loader:
    loss = model(centre, context, noise_for(frequencies, len(centre)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
