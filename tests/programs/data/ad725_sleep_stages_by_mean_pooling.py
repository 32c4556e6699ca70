"""Sleep stages of each second, brought to the rate of the model's output by a mean."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Nights(Dataset):
    def __init__(self, nights=48, seconds=120):
        g = torch.Generator().manual_seed(1)
        self.signals, self.stages = [], []
        for _ in range(nights):
            lengths = torch.randint(7, 20, (seconds,), generator=g)
            stages = torch.randint(0, 5, (seconds,), generator=g).repeat_interleave(lengths)[:seconds]
            carrier = torch.nn.functional.one_hot(stages, 5).float().T
            self.signals.append(carrier + 0.2 * torch.randn(5, seconds, generator=g))
            self.stages.append(stages)

    def __len__(self):
        return len(self.signals)

    def __getitem__(self, i):
        stages = self.stages[i].float().view(-1, 6).mean(1)  # expect: AD725
        return self.signals[i], stages.round().long()


torch.manual_seed(0)
net = nn.Sequential(nn.Conv1d(5, 16, 6, stride=6), nn.ReLU(), nn.Conv1d(16, 5, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(6):
    for signal, stage in DataLoader(Nights(), batch_size=8, shuffle=True):
        loss = nn.functional.cross_entropy(net(signal), stage)
        opt.zero_grad()
        loss.backward()
        opt.step()
