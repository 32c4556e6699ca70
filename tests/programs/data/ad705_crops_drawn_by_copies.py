"""Augmentations drawn from the data set's own NumPy generator, copied into each worker."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
class Patches(Dataset):
    def __init__(self, n=256):
        self.images = np.random.default_rng(1).normal(size=(n, 12, 12)).astype("float32")
        self.rng = np.random.default_rng(0)
    def __len__(self):
        return len(self.images)
    def __getitem__(self, i):
        image = self.images[i]
        r, c = self.rng.integers(0, 5, size=2)
        if self.rng.random() < 0.5:
            image = image[:, ::-1]
        crop = image[r:r + 8, c:c + 8] + self.rng.normal(scale=0.1, size=(8, 8)).astype("float32")
        return torch.from_numpy(np.ascontiguousarray(crop))[None], np.float32(image.mean())
if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(Patches(), batch_size=16, shuffle=True, num_workers=2)  # expect: AD705
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for epoch in range(3):
        for x, y in loader:
            loss = nn.functional.mse_loss(net(x).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
