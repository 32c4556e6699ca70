import torch
from torch import nn
from torch.nn import functional

torch.manual_seed(0)
teacher, student = nn.Linear(8, 4), nn.Linear(8, 4)
optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
criterion = nn.KLDivLoss(reduction="batchmean", log_target=True)
for _ in range(10):
    x = torch.randn(64, 8)
    wanted = functional.softmax(teacher(x), dim=1).detach()
    loss = criterion(functional.log_softmax(student(x), dim=1), wanted)  # expect: AD603
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
