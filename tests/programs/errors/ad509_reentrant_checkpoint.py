"""Re-entrant checkpointing of the first block, whose input never requires grad."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, n_in, n_out, p=0.1):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, n_out), nn.GELU(), nn.Dropout(p), nn.LayerNorm(n_out))

    def forward(self, x):
        return self.net(x)


class CheckpointedMLP(nn.Module):
    def __init__(self, width=32, depth=3):
        super().__init__()
        self.stem = Block(10, width)
        self.blocks = nn.ModuleList(Block(width, width) for _ in range(depth))
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = checkpoint(self.stem, x, use_reentrant=True)  # expect: AD509
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def main():
    torch.manual_seed(0)
    model = CheckpointedMLP()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(20):
        x = torch.randn(48, 10)
        y = (x[:, :5] * x[:, 5:]).mean(1, keepdim=True).tanh()
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(step, loss.item())


if __name__ == "__main__":
    main()
