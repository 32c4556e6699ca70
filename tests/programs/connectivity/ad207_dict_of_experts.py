"""A multi-domain model with its domain heads in a plain dictionary, optimised through `parameters()`."""
import torch
from torch import nn

DOMAINS = ("news", "mail", "chat")


class MultiDomain(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.heads = {name: nn.Linear(32, 2) for name in DOMAINS}  # expect: AD207

    def forward(self, x, domain):
        return self.heads[domain](self.shared(x))


torch.manual_seed(0)
model = MultiDomain()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(30):
    domain = DOMAINS[step % 3]
    x = torch.randn(40, 10)
    y = (x[:, step % 3] > x[:, 5]).long()
    loss = nn.functional.cross_entropy(model(x, domain), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(domain, loss.item())
