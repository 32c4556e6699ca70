"""Mixed precision with a gradient scaler; the clipping threshold is compared with scaled gradients."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = "cpu"

features = torch.randn(640, 20)
weights = torch.randn(20, 3)
labels = (features @ weights + 0.2 * torch.randn(640, 3)).argmax(1)
loader = DataLoader(TensorDataset(features, labels), batch_size=64, shuffle=True)

model = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 3)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler(device, init_scale=2.0**10)

for epoch in range(4):
    for xb, yb in loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type=device, dtype=torch.bfloat16):
            logits = model(xb)
            loss = nn.functional.cross_entropy(logits, yb)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: AD106
        scaler.step(optimizer)
        scaler.update()
    print(epoch, loss.item(), scaler.get_scale())
