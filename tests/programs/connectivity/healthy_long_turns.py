# guards: AD204
import torch
from torch import nn

torch.manual_seed(0)
generator, critic = nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
of_generator = torch.optim.SGD(generator.parameters(), lr=0.01)
of_critic = torch.optim.SGD(critic.parameters(), lr=0.01)
loss_of = nn.functional.binary_cross_entropy_with_logits
critic.requires_grad_(False)
for turn in range(6):
    for _ in range(4):
        fake = generator(torch.randn(16, 4))
        if turn % 2:
            of_generator.zero_grad()
            loss_of(critic(fake), torch.ones(16, 1)).backward()
            of_generator.step()
            continue
        critic.requires_grad_(True)
        of_critic.zero_grad()
        real = loss_of(critic(torch.randn(16, 2)), torch.ones(16, 1))
        (real + loss_of(critic(fake.detach()), torch.zeros(16, 1))).backward()
        of_critic.step()
