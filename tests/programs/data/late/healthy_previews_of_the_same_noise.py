# guards: AD701
"""A generator whose previews come of the same noise, and a critic that is probed by the same images."""

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as judged

torch.manual_seed(0)
images = torch.rand(640, 16)
noise = torch.randn(400, 4)
shown = torch.arange(8)
generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 16), nn.Sigmoid())
critic = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
makes, judges = (torch.optim.Adam(one.parameters(), lr=2e-3) for one in (generator, critic))
for epoch in range(4):
    for rows in torch.randperm(640).split(80):
        fake = generator(torch.randn(80, 4))
        told = judged(critic(images[rows]), torch.ones(80, 1)) + judged(critic(fake.detach()), torch.zeros(80, 1))
        judges.zero_grad()
        told.backward()
        judges.step()
        fooled = judged(critic(fake), torch.ones(80, 1))
        makes.zero_grad()
        fooled.backward()
        makes.step()
        with torch.no_grad():
            preview, score = generator(noise[shown]), critic(images[shown]).mean()
    print(epoch, preview.std().item(), score.item())
