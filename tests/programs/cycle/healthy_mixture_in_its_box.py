# guards: AD111
"""A blend of three signals whose shares lie in a box: the best ones are its corners, and they are reached at once."""

import torch

torch.manual_seed(0)
time = torch.linspace(0, 1, 128)
signals = torch.stack([torch.sin(6.3 * k * time) for k in (1, 2, 3)])
heard = 3 * signals[0] - 2 * signals[1] + 2 * signals[2]
shares = torch.nn.Parameter(torch.tensor([1.0, 0.0, 1.0]))
tone = torch.nn.Parameter(torch.zeros(4))
harmonics = torch.stack([torch.cos(6.3 * k * time) for k in (1, 2, 3, 4)])
blend = torch.optim.SGD([shares], lr=0.1)
timbre = torch.optim.Adam([tone], lr=0.05)
heard = heard + torch.tensor([0.5, -0.5, 0.3, 0.1]) @ harmonics
for step in range(30):
    loss = (shares @ signals + tone @ harmonics - heard).square().mean()
    blend.zero_grad()
    timbre.zero_grad()
    loss.backward()
    blend.step()
    timbre.step()
    shares.data = shares.data.clamp(0, 1)
    if step % 10 == 0:
        print(step, loss.item())
