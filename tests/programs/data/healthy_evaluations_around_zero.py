# guards: AD720
"""Numbers around zero of many kinds, none of them scaled by what is known only of the set."""
import torch
from torch import nn

torch.manual_seed(1)


def train_and_look(model, batches, sets, lr=5e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for x in batches:
        target = x.flatten(1).square().mean(1, keepdim=True).sqrt()
        loss = nn.functional.mse_loss(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for held_out in sets:
            print(round(model(held_out).std().item(), 3))
    model.train()


def standard(x, dim):
    return (x - x.mean(dim, keepdim=True)) / x.std(dim, keepdim=True)


def mlp(width):
    return nn.Sequential(nn.Linear(width, 16), nn.Tanh(), nn.Linear(16, 1))


# all that there is was scaled together, and split afterwards
together = standard(3 + torch.randn(400, 5), 0)
train_and_look(mlp(5), together[:300].split(30), [together[300:]])

# an evaluation on what was trained on
train_and_look(mlp(5), together.split(40), [together])

# each signal by itself
signals = standard(torch.cumsum(torch.randn(200, 24), 1), 1)
train_and_look(mlp(24), signals[:150].split(15), [signals[150:]])

# a design of ones and minus ones, all of it
design = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 6)
train_and_look(mlp(6), [torch.randint(0, 2, (20, 6)) * 2.0 - 1 for _ in range(10)], [design])

# a grid on which a function is drawn
grid = torch.linspace(-1.7320508, 1.7320508, 101)[:, None]
train_and_look(mlp(1), [torch.rand(32, 1) * 4 - 2 for _ in range(10)], [grid])
