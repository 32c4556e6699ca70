import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __init__(self, n=480):
        g = torch.Generator().manual_seed(0)
        self.images = torch.full((n, 1, 8, 8), -1.0)
        for image, i, j in zip(self.images, torch.randint(0, 5, (n,), generator=g), torch.randint(0, 5, (n,), generator=g)):
            image[0, i : i + 3, j : j + 3] = 1.0

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return {"pixel_values": self.images[i]}


class LinearScheduler:
    def __init__(self, num_train_timesteps=100):
        self.num_train_timesteps = num_train_timesteps
        self.alphas_cumprod = torch.cumprod(1 - torch.linspace(1e-3, 0.1, num_train_timesteps), 0)

    def add_noise(self, samples, noise, timesteps):
        a = self.alphas_cumprod[timesteps].view(-1, 1, 1, 1)
        return a.sqrt() * samples + (1 - a).sqrt() * noise


class TinyUNet(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.time = nn.Embedding(100, c)
        self.inp, self.mid, self.out = nn.Conv2d(1, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, 1, 3, padding=1)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t)[:, :, None, None])
        return self.out(F.silu(self.mid(h)) + h)


def main():
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True)
    model, scheduler = TinyUNet(), LinearScheduler()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    dataloader = DataLoader(Squares(), batch_size=32, shuffle=True)
    model, optimizer, dataloader = accelerator.prepare(model, optimizer, dataloader)
    for epoch in range(3):
        for batch in dataloader:
            clean = batch["pixel_values"]
            noise = torch.randn(clean.shape)
            timesteps = torch.randint(0, scheduler.num_train_timesteps, (clean.shape[0],)).long()
            noisy = scheduler.add_noise(clean, torch.randn_like(clean), timesteps)
            noise_pred = model(noisy, timesteps)
            loss = F.mse_loss(noise_pred.float(), noise.float(), reduction="mean")  # <- AD629
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        accelerator.print(epoch, loss.item())


main()
