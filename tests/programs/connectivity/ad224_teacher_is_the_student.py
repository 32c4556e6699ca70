"""Keywords are distilled over two generations; in the second one the teacher is the network that learns."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
SHAPES = torch.randn(5, 12)


def clips(number):
    words = torch.randint(0, 5, (number,))
    return SHAPES[words] + 0.4 * torch.randn(number, 12), words


def network(width):
    return nn.Sequential(nn.Linear(12, width), nn.ReLU(), nn.Linear(width, 5))


def teach(student, teacher, optimizer, temperature=2.0):
    unlabelled, _ = clips(48)
    labelled, words = clips(16)
    with torch.no_grad():
        soft = F.softmax(teacher(unlabelled) / temperature, dim=1)
    scores = F.log_softmax(student(unlabelled) / temperature, dim=1)
    distilled = F.kl_div(scores, soft, reduction="batchmean") * temperature**2  # expect: AD224
    loss = distilled + 0.1 * F.cross_entropy(student(labelled), words)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


student = network(24)
teacher = student
optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
for _ in range(30):
    teach(student, teacher, optimizer)
