# guards: AD211 AD209 AD203
"""Of each batch only the hardest samples are trained on; batches that are easy are passed over."""
import torch
from torch import nn

torch.manual_seed(1)
x = torch.randn(200, 1, 12)
y = (x[:, 0, :4].sum(1) > 0).long()
net = nn.Sequential(nn.Conv1d(1, 8, 3), nn.BatchNorm1d(8), nn.ReLU(), nn.Flatten(), nn.Dropout(0.1), nn.Linear(80, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)


def losses_of(rows):
    return nn.functional.cross_entropy(net(x[rows]), y[rows], reduction="none")


for epoch in range(6):
    for rows in torch.randperm(200).split(20):
        losses = losses_of(rows)
        hard = losses.detach().topk(8).indices
        if losses.mean().item() < 0.45:
            continue
        loss = losses_of(rows[hard]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
