"""One scaler, two optimizers (encoder and head), the second stepped behind the scaler's back."""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(9, 30), nn.ReLU())
head = nn.Linear(30, 1)
opts = {"encoder": torch.optim.SGD(encoder.parameters(), lr=1e-2), "head": torch.optim.SGD(head.parameters(), lr=1e-3)}
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8)


def forward(batch, target):
    with torch.autocast("cpu", torch.bfloat16):
        pred = head(encoder(batch))
    return nn.functional.mse_loss(pred.float(), target)


def update():
    scaler.step(opts["encoder"])
    opts["head"].step()  # expect: AD107
    scaler.update()


for step in range(10):
    b = torch.randn(16, 9)
    for o in opts.values():
        o.zero_grad()
    loss = forward(b, b.mean(1, keepdim=True))
    scaler.scale(loss).backward()
    update()
    print(step, loss.item(), scaler.get_scale())
