# guards: AD613 AD410 AD116
"""Which machine makes this noise? One machine at first; each that arrives gets an output, and old noises are replayed."""
import torch
from torch import nn

torch.manual_seed(9)
spectra = 1.5 * torch.randn(3, 16)
ear, names = nn.Sequential(nn.Linear(16, 24), nn.ReLU()), nn.Linear(24, 1)
for machines in range(1, 4):
    if machines > 1:
        grown = nn.Linear(24, machines)
        with torch.no_grad():
            grown.weight[:-1].copy_(names.weight)
            grown.bias[:-1].copy_(names.bias)
        names = grown
    optimizer = torch.optim.Adam([*ear.parameters(), *names.parameters()], lr=3e-3)
    for _ in range(40):
        who = torch.randint(0, machines, (48,))
        heard = spectra[who] + 0.5 * torch.randn(48, 16)
        loss = nn.functional.cross_entropy(names(ear(heard)), who)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(machines, loss.item())
