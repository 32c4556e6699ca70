# guards: AD210
"""Modules that fx traced, the compiler scripted, and functorch called: their forwards belong to no module file."""
import torch
import torch.nn.functional as F
from torch import fx, nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.drop = nn.Linear(8, 8), nn.Dropout(0.1)

    def forward(self, x):
        return F.dropout(self.drop(F.relu(self.linear(x))), 0.1, training=self.training)


torch.manual_seed(0)
traced = fx.symbolic_trace(Block())
scripted = torch.jit.script(Block())
model = nn.Sequential(traced, scripted, Block(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(32, 8)
y = x.sum(1, keepdim=True)
for epoch in range(3):
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, F.mse_loss(model(x), y).item())
        weights = dict(model.named_parameters())
        print(torch.func.vmap(lambda row: torch.func.functional_call(model[2], {}, (row,)))(x).shape)
