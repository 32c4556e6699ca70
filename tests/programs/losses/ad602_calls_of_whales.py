"""Frames of a hydrophone that hold a whale's call: a one-dimensional net, and a Tversky index as its loss."""
import torch
import torch.nn as nn


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Conv1d(1, 12, 9, padding=4)
        self.deep = nn.Conv1d(12, 12, 9, padding=4)
        self.call = nn.Conv1d(12, 1, 1)

    def forward(self, sound):
        h = nn.functional.elu(self.deep(nn.functional.elu(self.wide(sound[:, None]))))
        score = self.call(h)[:, 0]
        return 1.0 / (1.0 + (-score).exp())  # <- AD602


def tversky(output, truth, alpha=0.3):
    chance = output.sigmoid()
    hit = torch.sum(truth * chance, dim=1)
    false = (chance * (1 - truth)).sum(1)
    missed = ((1 - chance) * truth).sum(1)
    return (1 - hit / (hit + alpha * false + (1 - alpha) * missed + 1e-6)).mean()


def recordings(count, length=80):
    begin = torch.randint(5, length - 30, (count, 1))
    at = torch.arange(length)
    truth = ((at >= begin) & (at < begin + 20)).float()
    return truth * torch.sin(at * 0.9) * 2 + 0.5 * torch.randn(count, length), truth


torch.manual_seed(3)
net = Listener()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
for step in range(30):
    sound, truth = recordings(16)
    opt.zero_grad()
    loss = tversky(net(sound), truth)
    loss.backward()
    opt.step()
print(round(loss.item(), 4))
