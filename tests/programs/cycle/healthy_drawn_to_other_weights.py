# guards: AD121
"""Trained weights that are drawn to others: to where they began, to a pretrained copy that nothing runs, to a teacher
that follows them, to their own slow average, and to the weights of a larger share of somebody else."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
centres = torch.randn(4, 12)


def build():
    return nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 4))


def batch():
    labels = torch.randint(0, 4, (24,))
    return centres[labels] + 0.5 * torch.randn(24, 12), labels


def learn(model, optimizer, teacher=None):
    inputs, labels = batch()
    scores = model(inputs)
    loss = F.cross_entropy(scores, labels)
    if teacher is not None:
        with torch.no_grad():
            wanted = teacher(inputs).softmax(1)
        loss = loss + F.mse_loss(scores.softmax(1), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@torch.no_grad()
def draw(follower, leader, share):
    for kept, new in zip(follower, leader, strict=True):
        kept.mul_(1 - share).add_(new, alpha=share)


def to_the_start(steps=4):
    model = build()
    start = [weight.detach().clone() for weight in model.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        learn(model, optimizer)
        draw(model.parameters(), start, 0.01)


def to_a_pretrained_copy(steps=4):
    """Nothing runs the copy, once it was seen how good it is."""
    model = build()
    pretrained = copy.deepcopy(model).requires_grad_(False)
    inputs, labels = batch()
    print("before tuning", F.cross_entropy(pretrained(inputs), labels).item())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        learn(model, optimizer)
        with torch.no_grad():
            for weight, old in zip(model.parameters(), pretrained.parameters(), strict=True):
                weight.lerp_(old, 0.01)


def to_a_teacher_that_follows(steps=4):
    model = build()
    teacher = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        learn(model, optimizer, teacher)
        draw(teacher.parameters(), model.parameters(), 0.1)
        draw(model.parameters(), teacher.parameters(), 0.01)


def shrunk_to_a_fresh_draw(steps=4):
    """Shrink and perturb: towards weights that are drawn anew, and judged beside the old ones."""
    model, fresh = build(), build().requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        learn(model, optimizer, fresh)
        fresh.load_state_dict(build().state_dict())
        draw(model.parameters(), fresh.parameters(), 0.1)


def replaced_by_the_teacher(steps=4):
    """A generation ends: most of what the next one begins with comes from the teacher."""
    model = build()
    teacher = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        learn(model, optimizer, teacher)
        with torch.no_grad():
            for weight, old in zip(model.parameters(), teacher.parameters(), strict=True):
                weight.mul_(0.1).add_(0.9 * old)


to_the_start()
to_a_pretrained_copy()
to_a_teacher_that_follows()
shrunk_to_a_fresh_draw()
replaced_by_the_teacher()
