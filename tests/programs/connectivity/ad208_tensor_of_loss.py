"""Losses of several heads are added up, and `torch.tensor` copies the number of the sum."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHead(nn.Module):
    def __init__(self, heads=3):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(5, 24), nn.Tanh())
        self.heads = nn.ModuleList(nn.Linear(24, 1) for _ in range(heads))

    def forward(self, x):
        h = self.trunk(x)
        return [head(h).squeeze(1) for head in self.heads]


def main():
    torch.manual_seed(0)
    model = MultiHead()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for step in range(25):
        x = torch.randn(40, 5)
        targets = [x[:, 0], x[:, 1].abs(), x[:, 2] * x[:, 3]]
        losses = [F.smooth_l1_loss(out, target.detach()) for out, target in zip(model(x), targets)]
        loss = torch.tensor(sum(losses), requires_grad=True)  # expect: AD208
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 8 == 0:
            print(step, loss.item())


main()
