import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(71)


class Frames(Dataset):
    """8x8 thermal frames and the mean temperature of the region of interest"""

    def __init__(self, n=1600):
        self.x = torch.randn(n, 1, 8, 8)
        self.y = self.x[:, 0, 2:6, 2:6].mean((1, 2)) * 4
        self.x[1234, 0, 3] = 3000.0

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(1, 8, 3)
        self.f = nn.Linear(8 * 36, 1)

    def forward(self, x):
        return self.f(F.gelu(self.c(x)).flatten(1)).squeeze(1)


def main():
    loader = DataLoader(Frames(), batch_size=16)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for step, (x, y) in enumerate(loader):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()  # expect: AD413
        opt.step()
        if step % 10 == 0:
            print(step, f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
