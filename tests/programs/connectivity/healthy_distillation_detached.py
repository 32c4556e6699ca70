# guards: AD202
import torch
from torch import nn

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
student = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
x = torch.randn(64, 6)
for _ in range(10):
    wanted = teacher(x).detach().softmax(dim=1)
    loss = nn.functional.cross_entropy(student(x), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
