# guards: AD716 AD715
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.Linear(32, 8))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def jitter(x):
    return x + 0.1 * torch.randn_like(x)


encoder, critic, conditioned = Encoder(), nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 1)), nn.Linear(14, 3)
optimizer = torch.optim.Adam([*encoder.parameters(), *critic.parameters(), *conditioned.parameters()], lr=2e-3)
centers = torch.randn(6, 10)
for step in range(60):
    classes = torch.randint(0, 6, (24,))
    x = centers[classes] + 0.3 * torch.randn(24, 10)
    a, b = encoder(jitter(x)), encoder(jitter(x))
    contrastive = F.cross_entropy(a @ b.t() / 0.2, torch.arange(24))
    anchor, negative = encoder(x[:, :]), encoder(x.roll(1, 0)[:, :])
    triplet = (1.0 - F.cosine_similarity(encoder(jitter(x)), anchor) + 0.2 * negative.square().mean(1)).mean()
    triplet = triplet + 0.1 * encoder(x[:, :]).abs().mean()
    real = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(critic(real).sum(), real, create_graph=True)
    adversarial = F.softplus(-critic(x.clone())).mean() + 0.1 * slope.square().sum(1).mean()
    goal = torch.randn(4)
    wanted = (x[:, :3] * goal[:3]).sum(1)
    steered = conditioned(torch.cat([x, goal.expand(24, 4)], dim=1)).sum(1)
    loss = contrastive + 0.1 * triplet + adversarial + F.mse_loss(steered, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
