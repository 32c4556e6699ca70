# guards: AD219
"""A WGAN whose estimate of the distance is printed from a graph of its own, beside the loss that trains the critic."""
import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1, bias=False))
of_generator = torch.optim.RMSprop(generator.parameters(), lr=1e-3)
of_critic = torch.optim.RMSprop(critic.parameters(), lr=1e-3)

for step in range(24):
    real = torch.randn(64, 2) * 0.3 + torch.tensor([1.0, -1.0])
    fake = generator(torch.randn(64, 4))
    loss = critic(fake.detach()).mean() - critic(real).mean()
    of_critic.zero_grad()
    loss.backward()
    of_critic.step()
    for parameter in critic.parameters():
        parameter.data.clamp_(-0.1, 0.1)
    if step % 3 == 2:
        fooled = -critic(generator(torch.randn(64, 4))).mean()
        of_generator.zero_grad()
        fooled.backward()
        of_generator.step()
    distance = critic(real).mean() - critic(generator(torch.randn(64, 4))).mean()
    print(step, round(distance.item(), 4))
