# guards: AD101
import torch
from torch import nn

torch.manual_seed(0)
generator, critic = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for _ in range(8):
    real, fake = torch.randn(16, 2) + 2, generator(torch.randn(16, 2))
    opt_d.zero_grad()
    bce(critic(real), torch.ones(16, 1)).backward()
    bce(critic(fake.detach()), torch.zeros(16, 1)).backward()
    opt_d.step()
    opt_g.zero_grad()
    bce(critic(fake), torch.ones(16, 1)).backward()
    opt_g.step()
