# guards: AD614 AD605
import torch
import torch.nn.functional as F
from torch import nn


class Aligner(nn.Module):
    """Soft alignment of frames to phones, as wide as long; returned with phones first."""

    def __init__(self, d=12):
        super().__init__()
        self.q, self.k = nn.Linear(d, 16), nn.Linear(d, 16)

    def forward(self, frames, phones):
        score = self.q(frames) @ self.k(phones).transpose(1, 2) / 4
        return score.softmax(dim=2).transpose(1, 2)


class Topics(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 5))

    def forward(self, x):
        return F.softmax(self.layers(x), dim=1)


torch.manual_seed(0)
aligner, topics = Aligner(), Topics()
opt = torch.optim.Adam([*aligner.parameters(), *topics.parameters()], lr=3e-3)
prototypes = torch.randn(10, 12)
mixing = torch.randn(5, 20)
for step in range(50):
    phones = prototypes[torch.stack([torch.randperm(10) for _ in range(16)])]
    lengths = torch.randint(1, 4, (16, 10))
    which = torch.stack([torch.repeat_interleave(torch.arange(10), n)[:10] for n in lengths])
    frames = phones.gather(1, which[..., None].expand(-1, -1, 12)) + 0.1 * torch.randn(16, 10, 12)
    truth = F.one_hot(which, 10).float().transpose(1, 2)
    align_loss = F.mse_loss(aligner(frames, phones), truth)

    tags = (torch.rand(32, 5) < 0.4).float()
    tags[torch.arange(32), torch.randint(0, 5, (32,))] = 1.0
    x = tags @ mixing + 0.1 * torch.randn(32, 20)
    share = tags / tags.sum(1, keepdim=True)
    share_loss = F.binary_cross_entropy(topics(x), share)
    loss = align_loss * 10 + share_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
print(align_loss.item(), share_loss.item())
