# guards: AD716
"""A coarse solver is distilled: a student is to make four steps of a teacher's at once, and is given the same rows. A
second student learns the rest that a shrunken first one leaves."""
import torch
from torch import nn

torch.manual_seed(0)
drift = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2)).requires_grad_(False)
student = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
weak, rest = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam([*student.parameters(), *weak.parameters(), *rest.parameters()], lr=3e-3)
for step in range(50):
    x = torch.randn(64, 2)
    with torch.no_grad():
        goal = x.clone()
        for _ in range(4):
            goal = goal + 0.25 * drift(goal)
        one = x + 0.25 * drift(x.clone())
    loss = nn.functional.mse_loss(x + student(x), goal) + nn.functional.mse_loss(x + 0.25 * student(x), one)
    said = weak(x)
    loss = loss + nn.functional.mse_loss(said, goal) + nn.functional.mse_loss(rest(x), goal - 0.5 * said.detach())
    opt.zero_grad()
    loss.backward()
    opt.step()
