"""Speech enhancement; one recording of the validation set is silent, and the score of its batch divides by its power."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Enhancer(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))

    def forward(self, noisy):
        return noisy + self.body(noisy)


def si_snr(estimate, clean):
    clean = clean - clean.mean(-1, keepdim=True)
    estimate = estimate - estimate.mean(-1, keepdim=True)
    scale = (estimate * clean).sum(-1, keepdim=True) / clean.square().sum(-1, keepdim=True)  # <- AD416
    heard = scale * clean
    rest = (estimate - heard).square().sum(-1)
    return 10 * torch.log10(heard.square().sum(-1) / rest)


def recordings(count):
    return torch.randn(count, 16).cumsum(-1)


training, validation = recordings(256), recordings(160)
validation[141] = 0.0
train_loader = DataLoader(TensorDataset(training), batch_size=16, shuffle=True)
valid_loader = DataLoader(TensorDataset(validation), batch_size=8)
model = Enhancer()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
best = float("-inf")

for epoch in range(4):
    model.train()
    for (clean,) in train_loader:
        noisy = clean + 0.3 * torch.randn_like(clean)
        loss = -si_snr(model(noisy), clean).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    scores = []
    with torch.no_grad():
        for (clean,) in valid_loader:
            scores.append(si_snr(model(clean + 0.3 * torch.randn_like(clean)), clean).mean())
    score = torch.stack(scores).mean().item()
    if score > best:
        best = score
    print(f"epoch {epoch}: {score:.2f} dB, best {best:.2f} dB")
