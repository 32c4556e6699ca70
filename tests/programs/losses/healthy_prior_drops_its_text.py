# guards: AD608
"""A diffusion prior that is trained with and without its text: each row draws for itself whether it may see it."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STEPS = 50


class Prior(nn.Module):
    def __init__(self, dim=8, text_dim=6, width=48):
        super().__init__()
        self.null_text = nn.Parameter(torch.zeros(text_dim))
        self.time = nn.Embedding(STEPS, 8)
        self.net = nn.Sequential(nn.Linear(dim + text_dim + 8, width), nn.SiLU(), nn.Linear(width, dim))

    def forward(self, noisy, t, text, drop=0.1):
        keep = torch.rand(len(noisy), device=noisy.device) >= drop
        text = torch.where(keep[:, None], text, self.null_text)
        return self.net(torch.cat([noisy, text, self.time(t)], dim=1))


def main():
    torch.manual_seed(3)
    text = torch.randn(5, 6)
    centres = 2 * torch.randn(5, 8)
    labels = torch.randint(0, 5, (512,))
    images = centres[labels] + 0.2 * torch.randn(512, 8)
    loader = DataLoader(TensorDataset(images, text[labels]), batch_size=16, shuffle=True)
    alphas = torch.cumprod(1 - torch.linspace(1e-3, 0.1, STEPS), 0)
    prior = Prior()
    optimizer = torch.optim.AdamW(prior.parameters(), lr=2e-3)
    for _ in range(2):
        for image, caption in loader:
            t = torch.randint(0, STEPS, (len(image),))
            noise = torch.randn_like(image)
            a = alphas[t, None]
            predicted = prior(a.sqrt() * image + (1 - a).sqrt() * noise, t, caption)
            loss = nn.functional.mse_loss(predicted, noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


main()
