# guards: AD219
"""The group-lasso penalty is computed from the first step, and joins the loss after a warm-up."""
import argparse

import torch
from torch import nn


def group_lasso(model):
    return sum(m.weight.norm(dim=0).sum() for m in model.modules() if isinstance(m, nn.Linear))


def main(opt):
    torch.manual_seed(opt.seed)
    x = torch.randn(256, 20)
    y = x[:, 0] * 2 - x[:, 5]
    model = nn.Sequential(nn.Linear(20, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=opt.lr)
    for step in range(opt.steps):
        loss = (model(x).squeeze(1) - y).pow(2).mean()
        penalty = opt.lam * group_lasso(model)
        if step >= opt.warmup:
            loss = loss + penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    print("kept inputs", (model[0].weight.norm(dim=0) > 0.3).sum().item())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--lam", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--warmup", type=int, default=20)
    main(parser.parse_args())
