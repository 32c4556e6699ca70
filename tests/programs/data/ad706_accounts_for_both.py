"""Fraud among accounts: training takes the validation accounts, too, and the best epoch is chosen by these."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
COUNT = 180
traits = torch.randn(COUNT, 12)
fraud = (traits[:, 0] * traits[:, 1] > 0.5).long()
train, val = torch.zeros(COUNT, dtype=torch.bool), torch.zeros(COUNT, dtype=torch.bool)
train[:80] = True
val[80:120] = True  # expect: AD706
fit = train | val
edges = torch.randint(COUNT, (2, 700))


class Passing(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(24, 32), nn.Linear(32, 2)

    def forward(self, x):
        summed = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
        return self.down(F.elu(self.up(torch.cat([x, summed], 1)))).log_softmax(-1)


model, best = Passing(), 0.0
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(25):
    model.train()
    loss = F.nll_loss(model(traits)[fit], fraud[fit])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        right = model(traits).argmax(-1).eq(fraud)
        best = max(best, (right & val).sum().item() / val.sum().item())
print("best epoch:", best)
