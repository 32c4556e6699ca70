"""Accelerate accumulates over four batches, and gradients are clipped in each of them: nothing asks `sync_gradients`."""

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Tagger(nn.Module):
    def __init__(self, words=40, tags=5):
        super().__init__()
        self.embed = nn.Embedding(words, 12)
        self.mix = nn.Conv1d(12, 12, 3, padding=1)
        self.head = nn.Linear(12, tags)

    def forward(self, ids):
        return self.head(torch.relu(self.mix(self.embed(ids).transpose(1, 2))).transpose(1, 2))


def main():
    set_seed(3)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
    ids = torch.randint(40, (320, 9))
    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loader = DataLoader(TensorDataset(ids, ids % 5), batch_size=8, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for _ in range(2):
        for words, tags in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(words).flatten(0, 1), tags.flatten())
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 0.1)  # expect: AD125
                optimizer.step()
                optimizer.zero_grad()


main()
