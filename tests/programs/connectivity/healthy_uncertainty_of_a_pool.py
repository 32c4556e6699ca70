# guards: AD211 AD209
"""Active learning: the pool is scored with dropout on, which is switched on for that, and the rows that the model is
least sure of are labelled next."""
import torch
from torch import nn


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Dropout(0.25), nn.Linear(32, 3))

    def forward(self, x):
        return self.body(x)


def least_sure(model, pool, passes=5):
    model.train()
    votes = torch.stack([model(pool).argmax(1) for _ in range(passes)])
    agree = (votes == votes.mode(0).values).float().mean(0)
    return agree.argsort()[:8]


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
x = torch.randn(200, 5)
y = x[:, :3].argmax(1)
chosen = torch.arange(16)
model = Student()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for query in range(5):
    model.train()
    for _ in range(8):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[chosen]), y[chosen]).backward()
        optimizer.step()
    rest = torch.tensor(sorted(set(range(200)) - set(chosen.tolist())))
    chosen = torch.cat([chosen, rest[least_sure(model, x[rest])]])
    print(query, accuracy(model, x, y))
