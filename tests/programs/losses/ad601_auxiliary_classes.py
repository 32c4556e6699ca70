"""A critic that also names the class, trained on real and on made samples; one softmax serves three losses."""

import torch
from torch import nn

torch.manual_seed(3)
CLASSES, SIZE, NOISE = 5, 12, 6
centres = torch.randn(CLASSES, SIZE)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(SIZE, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2))
        self.real = nn.Linear(48, 1)
        self.kind = nn.Sequential(nn.Linear(48, CLASSES), nn.Softmax(dim=-1))

    def forward(self, x):
        h = self.trunk(x)
        return self.real(h), self.kind(h)  # expect: AD601


class Maker(nn.Module):
    def __init__(self):
        super().__init__()
        self.kinds = nn.Embedding(CLASSES, NOISE)
        self.net = nn.Sequential(nn.Linear(NOISE, 48), nn.ReLU(), nn.Linear(48, SIZE))

    def forward(self, z, kinds):
        return self.net(z * self.kinds(kinds))


critic, maker = Critic(), Maker()
opt_critic = torch.optim.Adam(critic.parameters(), lr=2e-3)
opt_maker = torch.optim.Adam(maker.parameters(), lr=1e-3)
realness, classes = nn.BCEWithLogitsLoss(), nn.CrossEntropyLoss()

for step in range(25):
    y = torch.randint(CLASSES, (32,))
    x = centres[y] + 0.3 * torch.randn(32, SIZE)
    made_y = torch.randint(CLASSES, (32,))
    made = maker(torch.randn(32, NOISE), made_y)

    opt_maker.zero_grad()
    verdict, kind = critic(made)
    (realness(verdict, torch.ones(32, 1)) + classes(kind, made_y)).backward()
    opt_maker.step()

    opt_critic.zero_grad()
    on_real, kind_of_real = critic(x)
    on_made, kind_of_made = critic(made.detach())
    loss_real = realness(on_real, torch.ones(32, 1)) + classes(kind_of_real, y)
    loss_made = realness(on_made, torch.zeros(32, 1)) + classes(kind_of_made, made_y)
    ((loss_real + loss_made) / 2).backward()
    opt_critic.step()
    if step % 10 == 0:
        print(step, loss_real.item(), loss_made.item())
