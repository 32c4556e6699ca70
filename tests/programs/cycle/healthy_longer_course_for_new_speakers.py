# guards: AD119
"""A recogniser goes on for other speakers: moments are kept, and the course of the rate is another, longer one."""

import os
import tempfile

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR, OneCycleLR

torch.manual_seed(8)
voices = torch.randn(2, 4, 10)


def hear(speaker, count=40):
    sounds = torch.randint(0, 4, (count,))
    return voices[speaker, sounds] + 0.4 * torch.randn(count, 10), sounds


def learn(net, opt, course, speaker, steps):
    for _ in range(steps):
        waves, sounds = hear(speaker)
        opt.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(net(waves), sounds).backward()
        opt.step()
        course.step()


def start():
    net = nn.Sequential(nn.Linear(10, 30), nn.Tanh(), nn.Linear(30, 4))
    return net, torch.optim.AdamW(net.parameters(), lr=2e-3)


def save(path, net, opt, course):
    torch.save({"weights": net.state_dict(), "moments": opt.state_dict(), "course": course.state_dict()}, path)


def load(path):
    parts = torch.load(path)
    net, opt = start()
    net.load_state_dict(parts["weights"])
    opt.load_state_dict(parts["moments"])
    return net, opt


net, opt = start()
course = OneCycleLR(opt, 1e-2, total_steps=10)
learn(net, opt, course, 0, 8)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "speaker.pt")
    save(path, net, opt, course)
    net, opt = load(path)
    learn(net, opt, OneCycleLR(opt, 1e-2, total_steps=14), 1, 8)

    course = LambdaLR(opt, lambda step: 0.9**step)
    learn(net, opt, course, 1, 4)
    save(path, net, opt, course)
    net, opt = load(path)
for group in opt.param_groups:
    group["lr"] = group["initial_lr"]
learn(net, opt, LambdaLR(opt, lambda step: 0.95**step), 0, 8)
