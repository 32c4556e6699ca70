"""A tokenizer of continuous signals learns nothing, because its codes become integers by `type`."""
import torch
import torch.nn as nn


class Tokenizer(nn.Module):
    def __init__(self, codes=12):
        super().__init__()
        self.codes = codes
        self.squash = nn.Linear(6, 4)

    def forward(self, signal):
        levels = torch.sigmoid(self.squash(signal)) * (self.codes - 1)
        return levels.type(torch.long)  # expect: AD202


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = Tokenizer()
        self.embed = nn.Embedding(12, 8)
        self.out = nn.Linear(32, 1)

    def forward(self, signal):
        return self.out(self.embed(self.tokens(signal)).flatten(1)).squeeze(1)


torch.manual_seed(0)
reader = Reader()
opt = torch.optim.RMSprop(reader.parameters(), lr=1e-3)
for turn in range(24):
    signal = torch.randn(40, 6)
    loss = nn.functional.smooth_l1_loss(reader(signal), signal.abs().sum(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
