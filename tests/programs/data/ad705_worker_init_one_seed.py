import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class Simulated(Dataset):
    """Draws a new experiment for every index."""

    def __len__(self):
        return 120

    def __getitem__(self, _):
        x = np.random.uniform(-1, 1, size=5).astype(np.float32)
        return torch.from_numpy(x), torch.tensor(float(np.prod(x[:2])))


def fixed(worker):
    np.random.seed(2024)


if __name__ == "__main__":
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 1))
    opt = optim.SGD(net.parameters(), lr=0.1)
    train = DataLoader(Simulated(), batch_size=6, num_workers=3, worker_init_fn=fixed)  # expect: AD705
    for x, y in train:
        opt.zero_grad()
        nn.functional.mse_loss(net(x).squeeze(1), y).backward()
        opt.step()
