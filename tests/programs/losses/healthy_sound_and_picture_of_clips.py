# guards: AD627
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Sampler

VIDEOS, CLIPS = 200, 6


class Clips(Dataset):
    """Sound and frames of clips; those of one video have the same room and speaker."""

    def __init__(self):
        g = torch.Generator().manual_seed(0)
        self.scene = torch.randn(VIDEOS, 8, generator=g).repeat_interleave(CLIPS, 0)
        self.event = torch.randn(VIDEOS * CLIPS, 4, generator=g)
        self.to_frames, self.to_sound = torch.randn(12, 30, generator=g), torch.randn(12, 20, generator=g)

    def __len__(self):
        return len(self.scene)

    def __getitem__(self, i):
        latent = torch.cat([self.scene[i], self.event[i]])
        return torch.tanh(latent @ self.to_frames), torch.tanh(latent @ self.to_sound)


class TwoClipsPerVideo(Sampler):
    """Negatives from the same video are the hard ones."""

    def __init__(self, videos):
        self.videos = videos

    def __len__(self):
        return VIDEOS // self.videos

    def __iter__(self):
        for chosen in torch.randperm(VIDEOS).split(self.videos):
            yield [int(v) * CLIPS + c for v in chosen for c in torch.randperm(CLIPS)[:2].tolist()]


frames_net = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 16))
sound_net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))
optimizer = torch.optim.Adam([*frames_net.parameters(), *sound_net.parameters()], lr=1e-3)
loader = DataLoader(Clips(), batch_sampler=TwoClipsPerVideo(20))
for epoch in range(4):
    for frames, sound in loader:
        z = F.normalize(torch.cat([frames_net(frames), sound_net(sound)]), dim=1)
        n = len(frames)
        logits = (z @ z.T) / 0.1
        logits = logits.masked_fill(torch.eye(2 * n, dtype=torch.bool), -1e4)
        loss = F.cross_entropy(logits, torch.cat([torch.arange(n, 2 * n), torch.arange(n)]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
