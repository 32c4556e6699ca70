"""A frozen model whose last block is to be thawed again, with a word that torch does not know."""

import torch
from torch import nn, optim


def frozen_model():
    model = nn.Sequential(
        nn.Embedding(30, 16), nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
    for p in model.parameters():
        p.requires_grad_(False)
    return model


def thaw(block):
    for name, p in block.named_parameters():
        if "weight" in name or "bias" in name:
            p.requires_gradient = True  # <- AD222


torch.manual_seed(0)
model = frozen_model()
thaw(model[4])
model[6].requires_grad_(True)
adam = optim.Adam(model.parameters(), lr=1e-2)
for _ in range(20):
    words = torch.randint(0, 30, (16, 4))
    out = model(words)
    loss = nn.functional.nll_loss(out.log_softmax(1), words.sum(1) % 3)
    adam.zero_grad()
    loss.backward()
    adam.step()
print(float(loss))
