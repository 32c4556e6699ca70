"""Estimates the volume of scanned bones from their triangles; scans have different numbers of vertices."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    def __init__(self, count, seed):
        draw = torch.Generator().manual_seed(seed)
        self.scans = []
        for _ in range(count):
            rings = int(torch.randint(3, 7, (1,), generator=draw))
            around = int(torch.randint(5, 9, (1,), generator=draw))
            radius = 0.5 + torch.rand(rings, 1, generator=draw)
            angle = torch.arange(around) * 6.2832 / around
            height = torch.arange(rings)[:, None].expand(rings, around) / rings
            points = torch.stack([radius * angle.cos(), radius * angle.sin(), height], -1).reshape(-1, 3)
            number = torch.arange(rings * around).view(rings, around)
            right, up = number.roll(-1, 1), number.roll(-1, 0)
            faces = torch.stack([number[:-1], right[:-1], up[:-1]], -1).reshape(-1, 3)
            self.scans.append((points, faces, radius.square().mean()))

    def __len__(self):
        return len(self.scans)

    def __getitem__(self, index):
        return self.scans[index]


def batched(scans):
    points, faces, volumes = zip(*scans)
    owner = [torch.full((len(each),), number) for number, each in enumerate(faces)]
    triangles = torch.cat(faces)  # <- AD729
    return torch.cat(points), triangles, torch.cat(owner), torch.stack(volumes)


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        self.of_face = nn.Sequential(nn.Linear(9, 48), nn.GELU(), nn.Linear(48, 16))
        self.out = nn.Linear(16, 1)

    def forward(self, points, faces, owner, count):
        corners = points[faces].flatten(1)
        pooled = torch.zeros(count, 16).index_add_(0, owner, self.of_face(corners))
        shares = torch.bincount(owner, minlength=count).clamp(min=1)[:, None]
        return self.out(pooled / shares)[:, 0]


def main():
    torch.manual_seed(2)
    model = Volume()
    adam = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loader = DataLoader(Scans(320, 0), batch_size=16, shuffle=True, collate_fn=batched)
    for epoch in range(3):
        for points, faces, owner, volumes in loader:
            adam.zero_grad()
            loss = F.mse_loss(model(points, faces, owner, len(volumes)), volumes)
            loss.backward()
            adam.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
