"""FitNet distillation in which the hint loss becomes a number with .item() before it is weighted and added (AD216)."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MLP(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.stem = nn.Linear(10, 32)
        self.blocks = nn.ModuleList(nn.Linear(32, 32) for _ in range(depth))
        self.fc = nn.Linear(32, 4)

    def forward(self, x):
        h = F.gelu(self.stem(x))
        for b in self.blocks:
            h = h + F.gelu(b(h))
        return self.fc(h), h


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--temperature", type=float, default=2.0)
    p.add_argument("--alpha", type=float, default=0.7)
    p.add_argument("--hint-weight", type=float, default=0.5)
    p.add_argument("--epochs", type=int, default=4)
    return p.parse_args([])


def main():
    args = get_args()
    torch.manual_seed(0)
    x = torch.randn(512, 10)
    y = (x @ torch.randn(10, 4)).argmax(1)
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)

    teacher = MLP(depth=3)
    t_opt = torch.optim.AdamW(teacher.parameters(), lr=3e-3)
    for xb, yb in loader:
        t_opt.zero_grad()
        F.cross_entropy(teacher(xb)[0], yb).backward()
        t_opt.step()
    teacher.eval().requires_grad_(False)

    student = MLP(depth=1)
    optimizer = torch.optim.AdamW(student.parameters(), lr=args.lr)
    T = args.temperature
    for epoch in range(args.epochs):
        total = 0.0
        for xb, yb in loader:
            logits_t, feat_t = teacher(xb)
            logits_s, feat_s = student(xb)
            kd = F.kl_div(F.log_softmax(logits_s / T, 1), F.softmax(logits_t / T, 1), reduction="batchmean") * T * T
            hint = F.mse_loss(feat_s, feat_t).item()
            ce = F.cross_entropy(logits_s, yb)
            loss = args.alpha * kd + (1 - args.alpha) * ce + args.hint_weight * hint  # expect: AD216
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")


main()
