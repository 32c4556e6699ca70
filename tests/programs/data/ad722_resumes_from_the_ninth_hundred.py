"""A trainer that finds its latest checkpoint in a folder by `os.listdir`, and anneals from it."""

import os
import tempfile

import torch
from torch import nn


class Trainer:
    def __init__(self, folder):
        torch.manual_seed(0)
        self.folder, self.step = folder, 0
        self.model = nn.Sequential(nn.Linear(8, 24), nn.GELU(), nn.Linear(24, 4))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def fit(self, steps):
        for _ in range(steps):
            x = torch.randn(32, 8)
            loss = nn.functional.cross_entropy(self.model(x), x[:, :4].argmax(1))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.step += 1
            if self.step % 3 == 0:
                state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
                torch.save(state, os.path.join(self.folder, f"checkpoint-{self.step}.pt"))

    def resume(self):
        found = [name for name in os.listdir(self.folder) if name.startswith("checkpoint-")]
        found.sort()
        state = torch.load(os.path.join(self.folder, found[-1]))  # expect: AD722
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])


with tempfile.TemporaryDirectory() as folder:
    Trainer(folder).fit(14)
    trainer = Trainer(folder)
    trainer.resume()
    trainer.fit(10)
