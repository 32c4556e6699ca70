# guards: AD227
"""Copies of models: of the best so far, of an opponent that was beaten, of old policies, of teachers, and an average."""

import copy
import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)


def network(inputs=6, outputs=3):
    return nn.Sequential(nn.Linear(inputs, 24), nn.ReLU(), nn.Linear(24, outputs))


def learn(model, opt, x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


x = torch.randn(300, 6)
y = x[:, :3].argmax(1)
held_out = torch.randn(200, 6)

# The best model so far, which is asked for its opinion in each epoch.
model, best, lowest = network(), None, float("inf")
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
for epoch in range(20):
    for rows in torch.randperm(300).split(100):
        learn(model, opt, x[rows], y[rows])
    with torch.no_grad():
        score = nn.functional.cross_entropy(model(held_out), held_out[:, :3].argmax(1)).item()
        if score < lowest - 0.02:
            best, lowest = copy.deepcopy(model), score
        agreement = (best(held_out).argmax(1) == model(held_out).argmax(1)).float().mean().item()

# An opponent that is replaced when it was beaten.
player, opponent = network(4, 2), network(4, 2)
opt = torch.optim.Adam(player.parameters(), lr=1.2e-2)
replaced = 0
for game in range(90):
    board = torch.randn(32, 4)
    with torch.no_grad():
        theirs = opponent(board).softmax(1)[:, 0]
    mine = player(board).softmax(1)[:, 0]
    won = (mine - theirs) * board[:, 0].sign()
    loss = -won.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if won.mean() > 0.1 + 0.1 * replaced:
        opponent.load_state_dict(player.state_dict())
        replaced += 1

# An old policy, copied before each round of a varying number of epochs.
policy, old = network(4, 2), network(4, 2)
opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
for update in range(9):
    old.load_state_dict(policy.state_dict())
    states = torch.randn(64, 4)
    for _ in range(random.choice([3, 4, 6])):
        with torch.no_grad():
            before = old(states).log_softmax(1)[:, 0]
        ratio = (policy(states).log_softmax(1)[:, 0] - before).exp()
        gain = states[:, 0].sign()
        loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()

# Generations of students, each taught by the last one, the last one for longer.
teacher = network()
opt = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for _ in range(12):
    learn(teacher, opt, x, y)
for length in (12, 12, 36):
    student = network()
    opt = torch.optim.Adam(student.parameters(), lr=1e-2)
    for _ in range(length):
        with torch.no_grad():
            soft = teacher(x).softmax(1)
        loss = nn.functional.cross_entropy(student(x), soft)
        opt.zero_grad()
        loss.backward()
        opt.step()
    teacher.load_state_dict(student.state_dict())

# A target that follows in every step, to the end.
value, target = network(4, 1), network(4, 1)
target.load_state_dict(value.state_dict())
opt = torch.optim.Adam(value.parameters(), lr=3e-3)
for _ in range(70):
    states = torch.randn(64, 4)
    with torch.no_grad():
        goal = states[:, :1] + 0.5 * target(0.5 * states)
    loss = (value(states) - goal).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), value.parameters()):
            slow.lerp_(fast, 0.05)
print(agreement, replaced, float(loss))
