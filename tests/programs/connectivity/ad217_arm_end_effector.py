"""Imitation for a two-joint arm; the end-effector position is rebuilt with torch.tensor([x, y]) from the live joint angles (AD217)."""
import torch
from torch import nn

L1, L2 = 1.0, 0.7


def forward_kinematics(q):
    x = L1 * torch.cos(q[0]) + L2 * torch.cos(q[0] + q[1])
    y = L1 * torch.sin(q[0]) + L2 * torch.sin(q[0] + q[1])
    return torch.tensor([x, y])


def exact_kinematics(q):
    a, b = q[:, 0], q[:, 0] + q[:, 1]
    return torch.stack((L1 * a.cos() + L2 * b.cos(), L1 * a.sin() + L2 * b.sin()), dim=1)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(2, 40)
        self.l2 = nn.Linear(40, 40)
        self.l3 = nn.Linear(40, 2)

    def forward(self, goal):
        h = torch.relu(self.l1(goal))
        h = torch.relu(self.l2(h))
        return self.l3(h)


def main(steps=35, batch=24):
    torch.manual_seed(0)
    policy = Policy()
    optimiser = torch.optim.Adam(policy.parameters(), lr=4e-3)
    for step in range(steps):
        demo = torch.rand(batch, 2) * torch.tensor([1.2, 1.5]) + 0.2
        goal = exact_kinematics(demo)
        q = policy(goal)
        reached = torch.stack([forward_kinematics(qi) for qi in q])
        imitation = (q - demo).pow(2).sum(1).mean()
        reach = (reached - goal).norm(dim=1).mean()

        optimiser.zero_grad()
        loss = imitation + reach  # expect: AD217
        loss.backward()
        optimiser.step()
        if step % 7 == 0:
            print(f"step={step} imitation={imitation.item():.4f} reach={reach.item():.4f}")


main()
