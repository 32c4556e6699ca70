"""How many bicycles are borrowed at each of five stations in the next hour: counts, so the rate of a Poisson law."""
import torch
from torch import nn

STATIONS, LOOKBACK = 5, 16


class Rates(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.gru = nn.GRU(STATIONS, width)
        self.log_rate = nn.Linear(width, STATIONS)

    def forward(self, counts):
        states, _ = self.gru(counts / 10)
        return self.log_rate(states[-1])


def borrowed(hours):
    hour = torch.arange(hours)[:, None]
    size = torch.tensor([2.0, 4.0, 6.0, 9.0, 12.0])
    return torch.poisson(size * (1.3 + torch.sin(hour / 24 * 6.283 + torch.arange(STATIONS))))


torch.manual_seed(5)
counts = borrowed(500)
pieces = counts.unfold(0, LOOKBACK, 1).permute(2, 0, 1)
rates = Rates()
law = nn.PoissonNLLLoss(log_input=True)
opt = torch.optim.Adam(rates.parameters(), lr=1e-2)
for step in range(30):
    rows = torch.randint(pieces.shape[1], (40,))
    seen = pieces[:, rows]
    opt.zero_grad()
    loss = law(rates(seen), seen[-1])  # <- AD717
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
