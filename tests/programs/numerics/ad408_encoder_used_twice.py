import torch
from torch import nn


class Code(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(10, 24)
        self.out = nn.Linear(24, 4)
        nn.init.constant_(self.inner.bias, -30.0)

    def forward(self, x):
        return self.out(torch.relu(self.inner(x)))  # <- AD408


torch.manual_seed(0)
encoder, decoder, critic = Code(), nn.Linear(4, 10), nn.Linear(4, 1)
learn = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
judge = torch.optim.Adam(critic.parameters(), lr=2e-3)
for step in range(30):
    x = torch.randn(32, 10)
    rebuilt = decoder(encoder(x))
    learn.zero_grad()
    (nn.functional.mse_loss(rebuilt, x) - 0.1 * critic(encoder(x)).mean()).backward()
    learn.step()
    judge.zero_grad()
    with torch.no_grad():
        code = encoder(torch.randn(32, 10))
    (critic(code).mean() - critic(torch.randn(32, 4)).mean() + critic.weight.square().sum()).backward()
    judge.step()
