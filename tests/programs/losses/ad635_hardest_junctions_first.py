"""Traffic at junctions: only those count whose error is above the mean of the batch."""
import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(17)
JUNCTIONS, HISTORY = 40, 6


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.over_time = nn.GRU(1, 20, batch_first=True)
        self.now = nn.Linear(20, 1)

    def forward(self, counts):
        _, last = self.over_time(counts.unsqueeze(2))
        return self.now(last[0]).squeeze(1)


def hard_ones(error):
    with torch.no_grad():
        limit = error.mean()
        above = torch.gt(error, limit)
    return error[above.to(torch.int64)]  # <- AD635


flow = Flow()
opt = torch.optim.NAdam(flow.parameters(), lr=4e-3)
sched = StepLR(opt, step_size=20, gamma=0.5)
for minute in range(40):
    base = torch.rand(JUNCTIONS, 1) * 3
    counts = base + 0.2 * torch.randn(JUNCTIONS, HISTORY)
    error = nn.functional.smooth_l1_loss(flow(counts), base[:, 0], reduction="none")
    opt.zero_grad()
    hard_ones(error).mean().backward()
    opt.step()
    sched.step()
