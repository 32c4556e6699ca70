# guards: AD203
"""A residual network with layer-drop: every block is used in some step, none in all."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, 2 * dim)
        self.fc2 = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(self.norm(x))))


class ResMLP(nn.Module):
    def __init__(self, dim=16, depth=3, drop=0.3):
        super().__init__()
        self.inp = nn.Linear(6, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.out = nn.Linear(dim, 1)
        self.drop = drop

    def forward(self, x):
        x = torch.tanh(self.inp(x))
        for block in self.blocks:
            if self.training and torch.rand(()) < self.drop:
                continue
            x = block(x)
        return self.out(x)


def main():
    torch.manual_seed(0)
    model = ResMLP()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(40):
        model.train()
        x = torch.randn(64, 6)
        loss = nn.functional.mse_loss(model(x), (x[:, :1] * x[:, 1:2]).tanh())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            model.eval()
            with torch.no_grad():
                x = torch.randn(256, 6)
                print(step, nn.functional.mse_loss(model(x), (x[:, :1] * x[:, 1:2]).tanh()).item())


main()
