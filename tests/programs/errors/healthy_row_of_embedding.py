# guards: AD502
"""The padding row of an embedding table is set to zero under `no_grad`."""
import torch
import torch.nn as nn


class BagOfWords(nn.Module):
    def __init__(self, vocab, dim, classes, pad=0):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.fc = nn.Linear(dim, classes)
        with torch.no_grad():
            self.embed.weight[pad] = 0.0

    def forward(self, tokens):
        return self.fc(self.embed(tokens).mean(1))


torch.manual_seed(0)
model = BagOfWords(40, 16, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(25):
    tokens = torch.randint(0, 40, (32, 6))
    label = (tokens < 20).float().mean(1).round().long()
    loss = nn.functional.cross_entropy(model(tokens), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        print(step, loss.item())
