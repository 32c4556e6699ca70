# guards: AD107 AD404
"""A gradient scaler that starts far too high: its first steps overflow and are skipped."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.5)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, backoff_factor=2.0**-30)

for step in range(30):
    x = torch.randn(64, 10)
    y = x[:, :2].sum(1, keepdim=True).tanh()
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.mse_loss(model(x), y, reduction="sum")
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    scale = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    if scale <= scaler.get_scale():
        scheduler.step()
    if step % 10 == 0:
        print(step, loss.item(), scaler.get_scale())
