"""MoCo on short sound clips: two random gains and shifts of a clip are its views."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Queue(nn.Module):
    def __init__(self, dim, size):
        super().__init__()
        self.register_buffer("keys", F.normalize(torch.randn(dim, size), dim=0))
        self.at = 0

    @torch.no_grad()
    def push(self, k):
        n = len(k)
        self.keys[:, self.at : self.at + n] = k.T
        self.at = (self.at + n) % self.keys.shape[1]


class MoCo(nn.Module):
    def __init__(self, dim=24, size=256, m=0.97, tau=0.1):
        super().__init__()
        self.m, self.tau = m, tau
        self.online = nn.Sequential(nn.Conv1d(1, 16, 9, stride=4), nn.ReLU(), nn.Flatten(), nn.LazyLinear(dim))
        self.online(torch.zeros(2, 1, 64))
        self.momentum = copy.deepcopy(self.online).requires_grad_(False)
        self.queue = Queue(dim, size)

    def forward(self, one, two):
        q = F.normalize(self.online(one), dim=1)
        with torch.no_grad():
            for slow, fast in zip(self.momentum.parameters(), self.online.parameters()):
                slow.lerp_(fast, 1 - self.m)
            k = F.normalize(self.momentum(two), dim=1)
        self.queue.push(k)
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue.keys.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1)
        logits /= self.tau
        return logits, torch.zeros(logits.shape[0], dtype=torch.long)


def view(x):
    return x.roll(int(torch.randint(0, 5, ())), -1) * (0.7 + 0.6 * torch.rand(len(x), 1, 1))


torch.manual_seed(0)
clips = torch.randn(512, 1, 64).cumsum(-1) / 8
model = MoCo()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.online.parameters(), 0.03, momentum=0.9, weight_decay=1e-4)
for step in range(40):
    x = clips[torch.randint(0, 512, (32,))]
    logits, labels = model(view(x), view(x))
    loss = criterion(logits, labels)  # expect: AD627
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
