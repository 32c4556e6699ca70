# guards: AD107
"""A network in two parts on two devices, say: the gradient at the cut, scaled already, is handed on by the program."""

import torch
from torch import nn

torch.manual_seed(0)
front, back = nn.Sequential(nn.Linear(8, 24), nn.Tanh()), nn.Linear(24, 3)
optimizer = torch.optim.AdamW([*front.parameters(), *back.parameters()], lr=1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
centres = torch.randn(3, 8)
for step in range(40):
    labels = torch.randint(0, 3, (32,))
    features = front(centres[labels] + 0.5 * torch.randn(32, 8))
    cut = features.detach().requires_grad_()
    loss = nn.functional.cross_entropy(back(cut), labels)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    features.backward(cut.grad)
    scaler.step(optimizer)
    scaler.update()
    if step % 10 == 0:
        print(step, loss.item())
