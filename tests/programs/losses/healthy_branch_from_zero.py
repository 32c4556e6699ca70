# guards: AD610
import torch
from torch import nn

class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.old = nn.Linear(16, 2).requires_grad_(False)
        self.down, self.up = nn.Linear(16, 4, bias=False), nn.Linear(4, 2, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.old(x) + self.up(self.down(x))

torch.manual_seed(0)
model = Branch()
optimizer = torch.optim.Adam([*model.down.parameters(), *model.up.parameters()], lr=0.01)
for _ in range(10):
    x = torch.randn(32, 16)
    loss = nn.functional.cross_entropy(model(x), (x.sum(1) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
