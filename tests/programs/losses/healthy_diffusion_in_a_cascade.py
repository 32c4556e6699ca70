# guards: AD629
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SuperResolution(nn.Module):
    def __init__(self, c=24):
        super().__init__()
        self.inp = nn.Conv2d(2, c, 3, padding=1)
        self.cond = nn.Linear(2, c)
        self.out = nn.Sequential(nn.SiLU(), nn.Conv2d(c, c, 3, padding=1), nn.SiLU(), nn.Conv2d(c, 1, 3, padding=1))

    def forward(self, x, low, log_snr, aug_level):
        h = self.inp(torch.cat([x, low], dim=1))
        return self.out(h + self.cond(torch.stack([log_snr, aug_level], dim=1))[:, :, None, None])


def log_snr_cosine(t, lo=-8.0, hi=8.0):
    return (-2 * torch.log(torch.tan(t * 1.4 + 0.08))).clamp(lo, hi)


def scales(log_snr):
    return torch.sigmoid(log_snr).sqrt(), torch.sigmoid(-log_snr).sqrt()


def main():
    torch.manual_seed(0)
    images = F.interpolate(torch.rand(400, 1, 3, 3) * 2 - 1, size=12, mode="bicubic").clamp(-1, 1)
    loader = DataLoader(TensorDataset(images), batch_size=25, shuffle=True)
    model = SuperResolution()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(3):
        for (x,) in loader:
            low = F.interpolate(F.avg_pool2d(x, 4), scale_factor=4)
            aug = 0.5 * torch.rand(len(x))
            low = low + torch.randn_like(low) * aug.view(-1, 1, 1, 1)
            log_snr = log_snr_cosine(torch.rand(len(x)))
            alpha, sigma = scales(log_snr)
            noise = torch.randn_like(x)
            noisy = torch.einsum("b,bchw->bchw", alpha, x) + torch.einsum("b,bchw->bchw", sigma, noise)
            eps = model(noisy, low, log_snr / 8, aug)
            loss = F.mse_loss(eps, noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


main()
