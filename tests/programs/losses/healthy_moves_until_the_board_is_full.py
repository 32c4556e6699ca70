# guards: AD622
# hinted: AD622
"""A robot's plan has nine moves; it stands still, of all moves, once it has arrived. Time comes first."""
import torch
import torch.nn.functional as F
from torch import nn, optim

STAY, MOVES, PLAN = 0, 5, 9


def plans(n):
    goal = torch.randint(1, 5, (n, 2))
    rows = []
    for right, up in goal.tolist():
        steps = [1] * right + [2] * up if right > up else [2] * up + [1] * right
        rows.append(torch.tensor(steps + [STAY] * (PLAN - len(steps))))
    return goal.float(), torch.stack(rows, 1)


class Planner(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(1, 1, 16))
        self.move = nn.Embedding(MOVES, 16)
        self.aim = nn.Linear(2, 48)
        self.memory = nn.GRU(16, 48)
        self.choose = nn.Linear(48, MOVES)

    def forward(self, moves, goal):
        before = torch.cat([self.start.expand(1, len(goal), -1), self.move(moves)[:-1]])
        return self.choose(self.memory(before, self.aim(goal)[None])[0])


torch.manual_seed(8)
net = Planner()
opt = optim.AdamW(net.parameters(), lr=6e-3)
losses = []
for _ in range(45):
    goal, moves = plans(40)
    opt.zero_grad()
    scores = net(moves, goal)
    loss = F.cross_entropy(scores.flatten(0, 1), moves.flatten())
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
