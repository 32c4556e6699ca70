# guards: AD219
"""Every step works out a weight norm and a margin with a graph, but they are read on every tenth step only."""
import torch
import torch.nn as nn

torch.manual_seed(0)
X = torch.randn(300, 6)
Y = (X @ torch.randn(6, 3)).argmax(1)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    logits = model(X)
    loss = nn.functional.cross_entropy(logits, Y)
    norm = torch.sqrt(sum((p ** 2).sum() for p in model.parameters()))
    top2 = logits.topk(2, dim=1).values
    margin = (top2[:, 0] - top2[:, 1]).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print("step", step, "loss", loss.item(), "norm", norm.item(), "margin", margin.item())
