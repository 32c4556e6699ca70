# guards: AD614 AD615
"""A robot arm: recurrent states that begin at measured places, or are read by a layer, and scores that are cut off."""
import torch
from torch import nn


class Arm(nn.Module):
    def __init__(self):
        super().__init__()
        self.drift = nn.GRUCell(3, 2)
        self.watch = nn.LSTM(3, 16, proj_size=2)
        self.guess = nn.Linear(3, 5)
        self.refine = nn.GRUCell(3, 5)
        self.places = nn.Parameter(torch.randn(5, 3))

    def forward(self, push, start):
        state, track = start, []
        for each in push:
            state = self.drift(each, state)
            track.append(state)
        towards, _ = self.watch(push)
        grip = self.refine(push[-1], self.guess(push[0]))
        gap = (push[-1][:, None] - self.places).square().sum(-1)
        return torch.stack(track), towards, grip, -gap.clamp_min(0), grip.clamp_min(-30)


torch.manual_seed(2)
arm = Arm()
opt = torch.optim.Adam(arm.parameters(), lr=1e-2)
for step in range(40):
    push, start = torch.randn(6, 32, 3), 4 * torch.randn(32, 2)
    path = start * 0.8 ** torch.arange(1, 7)[:, None, None] + 0.1 * push[..., :2]
    which = push[-1, :, 0].gt(0).long() + 2 * push[0, :, 1].gt(0).long()
    track, towards, grip, near, cut = arm(push, start)
    loss = nn.functional.mse_loss(track, path) + 0.1 * nn.functional.mse_loss(towards, push[..., :2])
    loss = loss + sum(nn.functional.cross_entropy(each, which) for each in (grip, near, cut))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
