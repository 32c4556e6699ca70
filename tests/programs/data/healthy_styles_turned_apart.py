# guards: AD708
"""Two styles of picture that belong together by their number only, each turned by itself: each way is learned from its own."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Styles(Dataset):
    def __init__(self):
        self.summer, self.winter = torch.rand(24, 1, 8, 8), torch.rand(24, 1, 8, 8)

    def __len__(self):
        return 24

    def __getitem__(self, i):
        return tuple(x[i].flip(-1) if torch.rand(()) < 0.5 else x[i] for x in (self.summer, self.winter))


torch.manual_seed(0)
there, back = (nn.Conv2d(1, 1, 3, padding=1) for _ in range(2))
optimizer = torch.optim.Adam([*there.parameters(), *back.parameters()], lr=1e-3)
for epoch in range(3):
    for a, b in DataLoader(Styles(), batch_size=6, shuffle=True):
        loss = nn.functional.l1_loss(back(there(a)), a) + nn.functional.l1_loss(there(back(b)), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
