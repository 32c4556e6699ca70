# guards: AD218
"""Where to drill: a search distribution over sites moves by the score of its draws, which have a graph of zeros."""
import torch


def yield_at(site):
    return torch.exp(-((site - torch.tensor([0.6, -0.4])) ** 2).sum(-1))


torch.manual_seed(0)
centre = torch.zeros(2, requires_grad=True)
spread = torch.zeros(2, requires_grad=True)
optimizer = torch.optim.Adam([centre, spread], lr=0.05)
for generation in range(50):
    scale = spread.exp()
    sites = torch.normal(centre.expand(64, 2), scale.expand(64, 2))
    score = (-0.5 * ((sites - centre) / scale) ** 2 - spread).sum(1)
    fitness = yield_at(sites)
    fitness = (fitness - fitness.mean()) / (fitness.std() + 1e-6)
    loss = -(fitness * score).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if generation % 10 == 0:
        print(generation, yield_at(centre.detach()).item())
