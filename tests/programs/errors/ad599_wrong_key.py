"""A curriculum over tasks that asks for a task that does not exist, some steps into the training."""
import torch
from torch import nn

TASKS = {
    "sum": lambda x: x.sum(1, keepdim=True).tanh(),
    "max": lambda x: x.max(1, keepdim=True).values,
    "spread": lambda x: x.std(1, keepdim=True),
}
CURRICULUM = [("sum", 10), ("max", 10), ("range", 10)]


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for task, steps in CURRICULUM:
        for _ in range(steps):
            x = torch.randn(64, 6)
            target = TASKS[task](x)  # expect: AD599
            loss = nn.functional.mse_loss(model(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(task, loss.item())


main()
