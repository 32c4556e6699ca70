import torch
from torch import nn
from torch.nn import functional

torch.manual_seed(0)
teacher, student = nn.Linear(8, 4), nn.Linear(8, 4)
optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
for _ in range(10):
    x = torch.randn(64, 8)
    with torch.no_grad():
        wanted = functional.softmax(teacher(x), dim=1)
    given = functional.softmax(student(x), dim=1)  # expect: AD603
    loss = functional.kl_div(given, wanted, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
