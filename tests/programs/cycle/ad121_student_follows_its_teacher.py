"""Mean teacher for few labels: the update of the average is called with student and teacher exchanged."""

import copy

import torch
from torch import nn
from torch.nn import functional as F


def follow(follower, leader, decay):
    with torch.no_grad():
        for kept, new in zip(follower.parameters(), leader.parameters(), strict=True):
            kept.mul_(decay).add_(new, alpha=1 - decay)  # expect: AD121


class MeanTeacher:
    def __init__(self, width=48):
        self.student = nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, 4))
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.optimizer = torch.optim.SGD(self.student.parameters(), lr=0.1, momentum=0.9)

    def consistency(self, unlabelled):
        with torch.no_grad():
            wanted = self.teacher(unlabelled + 0.1 * torch.randn_like(unlabelled)).softmax(1)
        return F.mse_loss(self.student(unlabelled).softmax(1), wanted)

    def step(self, inputs, labels, unlabelled):
        loss = F.cross_entropy(self.student(inputs), labels) + self.consistency(unlabelled)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        follow(self.student, self.teacher, 0.99)


torch.manual_seed(0)
centres = torch.randn(4, 16)
method = MeanTeacher()
for _ in range(25):
    labels = torch.randint(0, 4, (16,))
    unlabelled = centres[torch.randint(0, 4, (48,))] + 0.5 * torch.randn(48, 16)
    method.step(centres[labels] + 0.5 * torch.randn(16, 16), labels, unlabelled)
