# guards: AD416
"""Implicit-feedback recommender, judged by grouped AUC (per user, weighted by impressions)."""

import argparse
import math

import torch
from torch import nn


class GroupedAUC:
    def __init__(self, n_users):
        self.n_users = n_users
        self.scores, self.clicks, self.users = [], [], []

    def update(self, scores, clicks, users):
        self.scores.append(scores)
        self.clicks.append(clicks)
        self.users.append(users)

    def compute(self):
        s, c, u = torch.cat(self.scores), torch.cat(self.clicks), torch.cat(self.users)
        aucs, weights, skipped = [], [], 0
        for user in range(self.n_users):
            mine = u == user
            pos, neg = s[mine & (c > 0)], s[mine & (c == 0)]
            wins = (pos[:, None] - neg[None, :]).sign().add(1).div(2)
            auc = wins.mean().item()
            if math.isnan(auc):
                skipped += 1
                continue
            aucs.append(auc)
            weights.append(int(mine.sum()))
        total = sum(a * w for a, w in zip(aucs, weights)) / sum(weights)
        return total, skipped


class TwoTower(nn.Module):
    def __init__(self, users, items, dim):
        super().__init__()
        self.user, self.item = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.bias = nn.Embedding(items, 1)
        for table in (self.user, self.item):
            nn.init.normal_(table.weight, std=0.3)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--users", type=int, default=60)
    parser.add_argument("--items", type=int, default=40)
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(4)
    taste, kind = torch.randn(args.users, 4), torch.randn(args.items, 4)
    n = 2000
    u, i = torch.randint(args.users, (n,)), torch.randint(args.items, (n,))
    activity = torch.linspace(-3.5, 2.5, args.users)
    click = torch.bernoulli(torch.sigmoid((taste[u] * kind[i]).sum(-1) + activity[u]))
    cut = 1500
    model = TwoTower(args.users, args.items, 8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.05)
    for epoch in range(args.epochs):
        model.train()
        for rows in torch.randperm(cut).split(100):
            loss = nn.functional.binary_cross_entropy_with_logits(model(u[rows], i[rows]), click[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        metric = GroupedAUC(args.users)
        with torch.no_grad():
            for rows in torch.arange(cut, n).split(250):
                metric.update(model(u[rows], i[rows]), click[rows], u[rows])
        gauc, skipped = metric.compute()
        print(f"epoch {epoch} loss {loss.item():.3f} GAUC {gauc:.4f} ({skipped} users with one kind of feedback)")


if __name__ == "__main__":
    main()
