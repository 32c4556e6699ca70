import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class TwoCrops(Dataset):
    """Returns a tensor of shape (2, C, H, W)"""

    def __init__(self, n=512, size=12):
        self.images = F.interpolate(torch.rand(n, 3, 4, 4), size=size + 4, mode="bilinear")
        self.size = size

    def __len__(self):
        return len(self.images)

    def crop(self, img):
        i, j = torch.randint(0, 5, (2,)).tolist()
        img = img[:, i : i + self.size, j : j + self.size]
        return img * (0.8 + 0.4 * torch.rand(3, 1, 1))

    def __getitem__(self, idx):
        img = self.images[idx]
        return torch.stack([self.crop(img), self.crop(img)])


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.ReLU())
        self.proj = nn.Linear(32, dim)

    def forward(self, x):
        return self.proj(self.conv(x).mean((2, 3)))


class NTXent(nn.Module):
    def __init__(self, tau=0.5):
        super().__init__()
        self.tau = tau

    def forward(self, z):
        two_n = z.size(0)
        sim = F.cosine_similarity(z.unsqueeze(1), z.unsqueeze(0), dim=-1) / self.tau
        sim = sim - 1e9 * torch.eye(two_n)
        target = torch.roll(torch.arange(two_n), two_n // 2)
        return F.cross_entropy(sim, target, reduction="sum") / two_n  # <- AD627


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(TwoCrops(), batch_size=32, shuffle=True, drop_last=True)
    encoder, criterion = Encoder(), NTXent()
    opt = torch.optim.Adam(encoder.parameters(), lr=3e-4, weight_decay=1e-6)
    for epoch in range(3):
        for views in loader:
            b, v, c, h, w = views.shape
            loss = criterion(encoder(views.view(b * v, c, h, w)))
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")
