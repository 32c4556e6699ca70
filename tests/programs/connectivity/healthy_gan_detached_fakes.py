# guards: AD202
import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
loss_of = nn.BCEWithLogitsLoss()
for _ in range(10):
    real, fake = torch.randn(32, 2) + 1, generator(torch.randn(32, 4))
    critic_optimizer.zero_grad()
    loss = loss_of(critic(real), torch.ones(32, 1)) + loss_of(critic(fake.detach()), torch.zeros(32, 1))
    loss.backward()
    critic_optimizer.step()
    generator_optimizer.zero_grad()
    loss_of(critic(fake), torch.ones(32, 1)).backward()
    generator_optimizer.step()
