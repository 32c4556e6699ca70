"""A small training under the doctor, done once by the server that processes are forked from: what all of them would do
for the first time, such as to look up torch's functions, read signatures and take code apart, is done."""

from __future__ import annotations

import gc
import random

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import autograd_doctor
import tests.harness


class _Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(9, 8)
        self.read = nn.LSTM(8, 8, batch_first=True)
        self.mix = nn.Conv1d(8, 8, 3, padding=1)
        self.norms = nn.ModuleList([nn.BatchNorm1d(8), nn.LayerNorm(8)])
        self.look = nn.MultiheadAttention(8, 2, batch_first=True)
        self.rest, self.say = nn.Dropout(0.1), nn.Linear(8, 3)

    def forward(self, text: Tensor) -> Tensor:
        read, _ = self.read(self.words(text))
        mixed = self.norms[0](self.mix(read.transpose(1, 2))).transpose(1, 2)
        seen = self.norms[1](mixed + self.look(mixed, mixed, mixed)[0])
        said: Tensor = self.say(self.rest(torch.relu(seen)).mean(1))
        return said


class _Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context: torch.autograd.function.FunctionCtx, given: Tensor) -> Tensor:
        return given * 2

    @staticmethod
    def backward(context: torch.autograd.function.FunctionCtx, gradient: Tensor) -> Tensor:
        return gradient * 2


def _train() -> None:
    """Train, and leave random numbers as they were."""
    before = torch.get_rng_state(), np.random.get_state(), random.getstate()
    with autograd_doctor.watch():
        _read()
        _look_at_pictures()
    torch.set_rng_state(before[0])
    np.random.set_state(before[1])
    random.setstate(before[2])


def _read() -> None:
    texts, kinds = torch.randint(0, 9, (32, 5)), torch.randint(0, 3, (32,))
    model = _Reader()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5)
    for _ in range(2):
        model.train()
        for text, kind in DataLoader(TensorDataset(texts, kinds), batch_size=8, shuffle=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(text), kind).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        schedule.step()
        model.eval()
        with torch.no_grad():
            (model(texts).argmax(1) == kinds).float().mean().item()


def _look_at_pictures() -> None:
    layers = nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 2), nn.Sigmoid()
    model = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(4):
        picture = torch.randn(4, 1, 8, 8, requires_grad=True)
        share, target = model(picture), torch.rand(4, 2)
        (slope,) = torch.autograd.grad(share.sum(), picture, create_graph=True)
        terms = [
            nn.functional.binary_cross_entropy(share, target),
            nn.functional.mse_loss(_Doubled.apply(share), target),
            slope.pow(2).mean(),
            share.softmax(1).log().mean(),
            torch.stack([share, share]).std(),
            torch.cat([share, target]).abs().mean(),
        ]
        optimizer.zero_grad()
        torch.stack(terms).sum().backward()
        optimizer.step()


_train()
tests.harness.count_shared_modules()
gc.collect()
gc.freeze()
