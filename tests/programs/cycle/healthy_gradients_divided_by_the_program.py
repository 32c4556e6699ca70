# guards: AD106 AD107
import torch
from torch import nn


def in_place(parameters, scale):
    for each in parameters:
        each.grad.mul_(1 / scale)


def by_data(parameters, scale):
    for each in parameters:
        each.grad.data /= scale


def anew(parameters, scale):
    for each in parameters:
        each.grad = each.grad / scale


def in_one_go(parameters, scale):
    torch._foreach_mul_([each.grad for each in parameters], 1 / scale)


torch.manual_seed(0)
for divide in (in_place, by_data, anew, in_one_go):
    scaler = torch.amp.GradScaler("cpu", init_scale=512.0)
    tides = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(tides.parameters(), lr=0.01)
    for _ in range(6):
        moon = torch.randn(32, 4)
        optimizer.zero_grad()
        scaler.scale(nn.functional.mse_loss(tides(moon), moon.cos().sum(1, keepdim=True))).backward()
        parameters = list(tides.parameters())
        divide(parameters, scaler.get_scale())
        nn.utils.clip_grad_norm_(parameters, 0.5)
        optimizer.step()
        scaler.update(scaler.get_scale())

scaler = torch.amp.GradScaler("cpu", init_scale=512.0)
body, head = nn.Linear(4, 16), nn.Linear(16, 1)
by_scaler, by_hand = torch.optim.SGD(body.parameters(), lr=0.05), torch.optim.SGD(head.parameters(), lr=0.05)
copies = [each.detach().double().requires_grad_() for each in tides.parameters()]
of_copies = torch.optim.SGD(copies, lr=0.05)
for _ in range(8):
    moon = torch.randn(32, 4)
    by_scaler.zero_grad()
    by_hand.zero_grad()
    scaler.scale(nn.functional.mse_loss(head(body(moon).tanh()), moon.sum(1, keepdim=True))).backward()
    by_data(head.parameters(), scaler.get_scale())
    scaler.step(by_scaler)
    by_hand.step()
    scaler.update()
for _ in range(8):
    moon, scaler = torch.randn(32, 4), torch.amp.GradScaler("cpu", init_scale=512.0)
    tides.zero_grad()
    scaler.scale(nn.functional.mse_loss(tides(moon), moon.sum(1, keepdim=True))).backward()
    for copy, each in zip(copies, tides.parameters(), strict=True):
        copy.grad = each.grad.double() / scaler.get_scale()
    of_copies.step()
    with torch.no_grad():
        for copy, each in zip(copies, tides.parameters(), strict=True):
            each.copy_(copy)
