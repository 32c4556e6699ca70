# guards: AD109
"""Model predictive control: one plan, which is shifted on after each move and improved by a fresh optimizer."""

import torch

torch.manual_seed(0)
plan = torch.zeros(7, 1, requires_grad=True)


def moved(state, control):
    angle, speed = state
    speed = speed + 0.1 * (2 * torch.sin(angle) + 3 * torch.tanh(control) - 0.1 * speed)
    return angle + 0.1 * speed, speed


def cost_of(state, controls):
    cost = torch.zeros(())
    for control in controls:
        state = moved(state, control[0])
        cost = cost + 1 - torch.cos(state[0]) + 0.05 * state[1] ** 2 + 0.001 * control[0] ** 2
    return cost


state = torch.tensor(1.0), torch.tensor(0.0)
for t in range(6):
    optimizer = torch.optim.Adam([plan], lr=0.1)
    for _ in range(6):
        cost = cost_of(state, plan)
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
    with torch.no_grad():
        state = moved(state, plan[0, 0])
        plan.copy_(torch.cat([plan[1:], torch.zeros(1, 1)]))
    print(t, cost.item(), state[0].item())
