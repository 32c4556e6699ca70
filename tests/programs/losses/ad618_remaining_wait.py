"""How long callers still have to wait: a recurrent net reads what a call centre logs, and is taught by its own
estimate of a minute later."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Calls(Dataset):
    def __init__(self, count, minutes):
        gen = torch.Generator().manual_seed(11)
        self.load = torch.rand(count, minutes, 3, generator=gen).cumsum(1) / minutes
        self.waited = (self.load[..., 0] - 0.5 * self.load[..., 1]).clamp(min=0) + 0.2 * torch.rand(
            count, minutes, generator=gen)

    def __len__(self):
        return len(self.load)

    def __getitem__(self, index):
        return self.load[index], self.waited[index]


class Estimate(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = nn.GRU(3, 20, batch_first=True)
        self.remaining = nn.Linear(20, 1)

    def forward(self, load):
        return self.remaining(self.memory(load)[0])[..., 0]


class Teacher:
    def __init__(self, net, decay=0.9):
        self.net, self.decay = net, decay
        self.optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)

    def errors(self, load, waited):
        guess = self.net(load)
        then = torch.cat([guess[:, 1:], torch.zeros(len(load), 1)], dim=1)
        return waited + self.decay * then - guess  # <- AD618

    def fit(self, load, waited):
        loss = self.errors(load, waited).abs().clamp(max=4).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(1)
teacher = Teacher(Estimate())
for night in range(3):
    for load, waited in DataLoader(Calls(160, 12), batch_size=10, shuffle=True):
        loss = teacher.fit(load, waited)
    print(night, round(loss, 4))
