# guards: AD622 AD636
"""Heart rate along training runs of different lengths: five ways to leave out what is only filled up."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(19)


def runs(count=16):
    for length in torch.randint(6, 20, (count,)).tolist():
        pace = torch.randn(length, 2).cumsum(0) * 0.2
        yield pace, 1.5 + pace.sum(1).tanh()


class Heart(nn.Module):
    def __init__(self):
        super().__init__()
        self.lungs = nn.GRU(2, 24, batch_first=True)
        self.beats = nn.Linear(24, 5)
        self.stops = nn.Linear(24, 1)

    def forward(self, pace):
        breath, _ = self.lungs(pace)
        return self.beats(breath), self.stops(breath).squeeze(-1)


heart = Heart()
optimizer = torch.optim.AdamW(heart.parameters(), lr=4e-3)
for step in range(50):
    pace, rate = zip(*runs())
    lengths = torch.tensor([len(each) for each in rate])
    ends = [torch.zeros(len(each)) for each in rate]
    pace, rate = pad_sequence(pace, True), pad_sequence(rate, True)
    over = pad_sequence(ends, True, padding_value=1.0)
    real = torch.arange(rate.shape[1]) < lengths[:, None]

    beats, stops = heart(pace)
    one, two, three, four, five = beats.unbind(-1)
    error = one - rate
    loss = (error.square() * real).sum() / real.sum()
    loss = loss + (two - rate)[real].abs().mean()
    loss = loss + torch.where(real, F.smooth_l1_loss(three, rate, reduction="none"), 0.0).sum() / lengths.sum()
    loss = loss + F.mse_loss(four * real, rate)
    each = (five - rate).square().masked_fill(~real, 0).sum(1) / lengths
    # how long a run is going to be is told by all that comes after it as well
    loss = loss + each.mean() + F.binary_cross_entropy_with_logits(stops, over)
    shown = (one - rate).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"{step} {loss.item():.3f} {shown.item():.3f}")
