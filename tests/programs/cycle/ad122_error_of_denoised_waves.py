"""Waves are denoised; their error over the whole validation set falls, which a plateau in mode max takes for bad news."""

import torch
import torch.nn.functional as F

torch.manual_seed(4)


def waves(count):
    phase = 6.28 * torch.rand(count, 1, 1)
    return torch.sin(torch.linspace(0, 9, 32) + phase)


net = torch.nn.Sequential(
    torch.nn.Conv1d(1, 8, 5, padding=2), torch.nn.LeakyReLU(), torch.nn.Conv1d(8, 1, 5, padding=2)
)
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", patience=2, threshold=0.01)
val_clean = waves(60)
val_noisy = val_clean + 0.4 * torch.randn_like(val_clean)
for epoch in range(9):
    net.train()
    for _ in range(3):
        clean = waves(24)
        loss = F.smooth_l1_loss(net(clean + 0.4 * torch.randn_like(clean)), clean)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    error = torch.zeros(())
    with torch.no_grad():
        for noisy, clean in zip(val_noisy.split(25), val_clean.split(25)):
            error += F.mse_loss(net(noisy), clean) * len(noisy)
    schedule.step(error / len(val_clean))  # expect: AD122
    print(epoch, error.item(), opt.param_groups[0]["lr"])
