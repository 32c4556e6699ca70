# guards: AD609
"""New classes get a place on the sphere before their samples come: as far from the fixed places of the old ones as can
be, each measured along the chord."""

import torch

torch.manual_seed(4)
old = torch.nn.functional.normalize(torch.randn(1, 16) + 0.2 * torch.randn(12, 16), dim=1)
new = torch.nn.Parameter(old.mean(0).repeat(5, 1) + 0.3 * torch.randn(5, 16))
optimizer = torch.optim.SGD([new], lr=0.2)
for _ in range(500):
    places = new / new.norm(dim=1, keepdim=True).clamp_min(1e-8)
    chords = (places.unsqueeze(1) - old).norm(dim=-1)
    loss = -chords.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(chords.min().item(), chords.mean().item())
