# guards: AD631 AD609
"""A dispatcher learns by gradient ascent that is written out: parameters are moved along the gradient of what is wanted,
the clipped objective with an entropy bonus, which has a positive sign."""

import torch
from torch import nn

torch.manual_seed(0)
dispatcher = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 5))
gains = torch.randn(6, 5)
for round_ in range(12):
    depots = torch.eye(6)[torch.randint(0, 6, (64,))]
    with torch.no_grad():
        before = torch.distributions.Categorical(logits=dispatcher(depots))
        tours = before.sample()
        earned = (depots @ gains).gather(1, tours[:, None])[:, 0]
        better = (earned - earned.mean()) / earned.std()
        old = before.log_prob(tours)
    for _ in range(3):
        choices = torch.distributions.Categorical(logits=dispatcher(depots))
        ratio = (choices.log_prob(tours) - old).exp()
        wanted = torch.min(ratio * better, ratio.clamp(0.8, 1.2) * better).mean() + 0.01 * choices.entropy().mean()
        wanted.backward()
        with torch.no_grad():
            for parameter in dispatcher.parameters():
                parameter += 0.3 * parameter.grad
                parameter.grad = None
