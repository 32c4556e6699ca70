# guards: AD226
"""Nearest neighbours, assignments and prototypes, where a choice is all that is meant."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)
cloud = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 8 * 2))
rest = nn.Linear(4, 3)
embed = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 5))
classify, prototypes = nn.Linear(5, 3), nn.Parameter(torch.randn(7, 5))
actor, critic = nn.Linear(4, 3), nn.Linear(4, 3)
slow = nn.Linear(4, 3)
opt = torch.optim.Adam([p for m in (cloud, rest, embed, classify, actor, critic) for p in m.parameters()] + [prototypes])
for step in range(24):
    # points that are to lie on others
    given = torch.randn(10, 4)
    points = cloud(given).view(10, 8, 2)
    ring = F.normalize(torch.randn(10, 20, 2), dim=-1)
    nearest = torch.cdist(points, ring).argmin(-1)
    on_it = ring.gather(1, nearest[..., None].expand(-1, -1, 2))
    loss = F.mse_loss(points, on_it) + F.cross_entropy(rest(given), given[:, :3].argmax(1))

    # clusters beside labels
    x = torch.randn(32, 6)
    z = embed(x)
    own = prototypes[torch.cdist(z, prototypes).argmin(1)]
    loss = loss + F.cross_entropy(classify(z), x[:, :3].argmax(1)) + 0.1 * F.mse_loss(z, own)

    # values of the best action
    states, following = torch.randn(32, 4), torch.randn(32, 4)
    values = critic(states)
    best = slow(following).gather(1, critic(following).argmax(1, keepdim=True)).squeeze(1).detach()
    taken = torch.randint(0, 3, (32,))
    advantage = (1.0 + 0.9 * best - values[torch.arange(32), taken]).detach()
    policy = -(actor(states).log_softmax(1)[torch.arange(32), taken] * advantage).mean()
    loss = loss + policy + F.smooth_l1_loss(values[torch.arange(32), taken], 1.0 + 0.9 * best)
    opt.zero_grad()
    loss.backward()
    opt.step()
    slow.load_state_dict(critic.state_dict())
    if step % 8 == 0:
        print(step, loss.item())
