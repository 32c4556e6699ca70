# guards: AD636
"""Working memory: a cue of some length, then silence until all trials end together, and only then the answer."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)
TRIAL = 16


class Circuit(nn.Module):
    def __init__(self, units=40):
        super().__init__()
        self.cells = nn.GRU(4, units, batch_first=True)
        self.say = nn.Linear(units, 4)

    def forward(self, trial):
        _, state = self.cells(trial)
        return self.say(state[-1])


def trials(count=32):
    which, rows = torch.randint(0, 4, (count,)), []
    for each in which:
        cue = F.one_hot(each, 4).float().expand(int(torch.randint(2, 9, (1,))), 4)
        cue = cue + 0.3 * torch.randn(cue.shape)
        rows.append(F.pad(cue, (0, 0, 0, TRIAL - len(cue))))
    return torch.stack(rows), which


circuit = Circuit()
optimizer = torch.optim.RMSprop(circuit.parameters(), lr=2e-3)
for step in range(60):
    trial, which = trials()
    loss = F.cross_entropy(circuit(trial), which)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
