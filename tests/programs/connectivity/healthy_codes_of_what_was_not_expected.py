# guards: AD226
"""Motion clips: each pose is coded as a codebook entry on top of what a small network expects from the rig parameters."""
import torch
import torch.nn.functional as F
from torch import nn


class PoseCodec(nn.Module):
    def __init__(self, pose=18, rig=4, d=5, entries=32):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(pose, 48), nn.GELU(), nn.Linear(48, d))
        self.expect = nn.Sequential(nn.Linear(rig, 24), nn.GELU(), nn.Linear(24, d))
        self.dec = nn.Sequential(nn.Linear(d, 48), nn.GELU(), nn.Linear(48, pose))
        self.codes = nn.Parameter(0.5 * torch.randn(entries, d))

    def forward(self, pose, rig):
        expected = self.expect(rig)
        surprise = self.enc(pose) - expected
        index = torch.cdist(surprise, self.codes).argmin(1)
        entry = self.codes[index]
        vq = F.mse_loss(entry, surprise.detach()) + 0.25 * F.mse_loss(surprise, entry.detach())
        entry = surprise + (entry - surprise).detach()
        return self.dec(expected + entry), vq


def clips(n, maps):
    rig, move = torch.randn(n, 4), torch.randint(10, (n,))
    return torch.tanh(rig @ maps[0] + maps[1][move]), rig


if __name__ == "__main__":
    torch.manual_seed(0)
    maps = torch.randn(4, 18) * 0.5, torch.randn(10, 18)
    net = PoseCodec()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for step in range(1, 501):
        pose, rig = clips(128, maps)
        rebuilt, vq = net(pose, rig)
        mse = F.mse_loss(rebuilt, pose)
        opt.zero_grad()
        (mse + vq).backward()
        opt.step()
        if step % 100 == 0:
            print(f"{step} mse {mse.item():.4f} vq {vq.item():.3f}")
