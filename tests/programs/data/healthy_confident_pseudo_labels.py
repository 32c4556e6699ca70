# guards: AD707
import torch
import torch.nn.functional as F
from torch import nn


def clusters(count):
    kind = torch.randint(0, 4, (count,))
    return torch.randn(count, 10) + 1.2 * F.one_hot(kind, 10).float(), kind


def weak(x):
    return x + 0.05 * torch.randn_like(x)


def strong(x):
    return x * (torch.rand_like(x) > 0.3)


torch.manual_seed(8)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, nesterov=True)
for step in range(30):
    x, y = clusters(16)
    unlabelled, _ = clusters(48)
    logits = net(torch.cat([x, weak(unlabelled), strong(unlabelled)]))
    logits_x, (logits_weak, logits_strong) = logits[:16], logits[16:].chunk(2)
    confidence, guess = torch.softmax(logits_weak.detach(), dim=-1).max(dim=-1)
    mask = confidence.ge(0.98).float()
    supervised = F.cross_entropy(logits_x, y)
    consistent = (F.cross_entropy(logits_strong, guess, reduction="none") * mask).mean()
    optimizer.zero_grad()
    (supervised + consistent).backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, supervised.item(), mask.mean().item())
