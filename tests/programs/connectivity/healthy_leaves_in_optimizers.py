# guards: AD220
"""Inverse rendering: pose and albedo leaves made by hand, one given at construction and one by add_param_group after a while."""
import torch
from torch import nn


def render(albedo, angle, light):
    rot = torch.stack([torch.stack([angle.cos(), -angle.sin()]), torch.stack([angle.sin(), angle.cos()])])
    shade = torch.relu(normals @ rot.T @ torch.tensor([1.0, 0.3]))
    return albedo * light(shade.unsqueeze(1)).squeeze(1)


torch.manual_seed(0)
t = torch.linspace(0, 6.28, 80)
normals = torch.stack([t.cos(), t.sin()], 1)
true_light = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)).requires_grad_(False)
observed = render(torch.rand(80) * 0.5 + 0.5, torch.tensor(0.9), true_light) + 0.5

albedo = torch.full((80,), 0.7, requires_grad=True)
angle = torch.tensor(0.2, requires_grad=True)
light = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam([{"params": light.parameters(), "lr": 2e-2}, {"params": [angle], "lr": 2e-2}])
for it in range(40):
    if it == 10:
        opt.add_param_group({"params": [albedo], "lr": 1e-2})
    loss = (render(albedo, angle, light) - observed).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 9:
        print(it + 1, loss.item(), "angle", angle.item())
