# guards: AD410
import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
optimizer = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
for _ in range(8):
    optimizer.zero_grad()
    (critic(torch.randn(32, 4)).mean() - critic(torch.randn(32, 4) + 1).mean()).backward()
    nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
    optimizer.step()
