# guards: AD701
"""Small-data study: train a probe on the 20 labelled rows of 500 embeddings (full batch each step), judged on the other
480 by its weights in NumPy afterwards."""
import argparse
import torch
from torch import nn


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--shots", type=int, default=20)
    p.add_argument("--steps", type=int, default=120)
    return p.parse_args()


def embeddings():
    g = torch.Generator().manual_seed(1)
    y = torch.randint(0, 3, (500,), generator=g)
    means = 1.5 * torch.randn(3, 16, generator=g)
    return means[y] + torch.randn(500, 16, generator=g), y


def main():
    args = parse()
    torch.manual_seed(0)
    x, y = embeddings()
    n = args.shots
    probe = nn.Linear(16, 3)
    opt = torch.optim.SGD(probe.parameters(), 0.3, weight_decay=1e-2)
    for step in range(args.steps):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(probe(x[:n]), y[:n])
        loss.backward()
        opt.step()
        if step % 40 == 39:
            print(step, loss.item())
    w, b = probe.weight.detach().numpy(), probe.bias.detach().numpy()
    scores = x[n:].numpy() @ w.T + b
    print("held out", (scores.argmax(1) == y[n:].numpy()).mean())


main()
