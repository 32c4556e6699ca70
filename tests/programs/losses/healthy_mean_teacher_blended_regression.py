# guards: AD630
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(640, 5)
y = x[:, 0] * x[:, 1] + 0.3 * torch.randn(640)
clean = torch.rand(640) < 0.7
y = torch.where(clean, y, y + torch.randn(640))
student = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
teacher = copy.deepcopy(student).requires_grad_(False)
optimizer = torch.optim.Adam(student.parameters(), lr=2e-3)
loader = DataLoader(TensorDataset(x, y, clean), batch_size=64, shuffle=True)
for epoch in range(6):
    errors = []
    for inputs, observed, is_clean in loader:
        with torch.no_grad():
            blended = 0.7 * observed + 0.3 * teacher(inputs).squeeze(1)
        predicted = student(inputs).squeeze(1)
        loss = nn.functional.mse_loss(predicted, blended)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            errors.append((predicted - observed)[is_clean].abs().mean().item())
            for p, q in zip(student.parameters(), teacher.parameters()):
                q.lerp_(p, 0.05)
    print(epoch, sum(errors) / len(errors))
