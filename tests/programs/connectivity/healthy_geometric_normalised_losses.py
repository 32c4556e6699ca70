# guards: AD216
"""Scale-free multi-task loss: each term is divided by its own detached value, so the total always reads as the number of tasks."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Shared(nn.Module):
    def __init__(self, outs):
        super().__init__()
        self.base = nn.Sequential(nn.Linear(7, 40), nn.ReLU())
        self.heads = nn.ModuleDict({k: nn.Linear(40, n) for k, n in outs.items()})

    def forward(self, x):
        h = self.base(x)
        return {k: head(h) for k, head in self.heads.items()}


model = Shared({"price": 1, "kind": 3})
fns = {"price": nn.MSELoss(), "kind": nn.CrossEntropyLoss()}
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
wp, wk = 3 * torch.randn(7, 1), torch.randn(7, 3)
for step in range(40):
    x = torch.randn(64, 7)
    target = {"price": x @ wp, "kind": (x @ wk).argmax(1)}
    out = model(x)
    raw = {k: fn(out[k], target[k]) for k, fn in fns.items()}
    loss = sum(v / v.detach() for v in raw.values())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, {k: round(v.item(), 3) for k, v in raw.items()})
