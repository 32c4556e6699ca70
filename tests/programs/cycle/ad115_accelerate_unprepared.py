"""Accelerate with accumulation, where optimizer and scheduler were never given to `prepare` (AD115)."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
acc = Accelerator(cpu=True, gradient_accumulation_steps=4)
x = torch.randn(64, 8)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
epochs = 3
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs * len(loader) // 4)
model, loader = acc.prepare(model, loader)
for epoch in range(epochs):
    for bx, by in loader:
        with acc.accumulate(model):
            loss = nn.functional.mse_loss(model(bx), by)
            acc.backward(loss)
            opt.step()
            sched.step()  # expect: AD115
            opt.zero_grad()
