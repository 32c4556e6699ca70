# guards: AD616
"""Words find their pictures: which belong together is a table of numbers, in which the found ones are looked up."""

import torch
from torch import nn

torch.manual_seed(0)
PAIRS = 24
words, pictures = nn.Linear(5, 8), nn.Linear(7, 8)
optimizer = torch.optim.Adam([*words.parameters(), *pictures.parameters()], lr=2e-2)
to_words, to_pictures = torch.randn(4, 5), torch.randn(4, 7)


def drawn():
    meaning = torch.randn(PAIRS, 4)
    return words(meaning @ to_words) @ pictures(meaning @ to_pictures).T


asked = torch.arange(PAIRS).view(-1, 1)
offered = torch.arange(PAIRS)
for step in range(20):
    likeness = drawn()
    loss = nn.functional.cross_entropy(likeness, torch.arange(PAIRS))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        with torch.no_grad():
            best = drawn().topk(3, dim=1).indices
            belongs = asked == offered
            hit = 3 * belongs.gather(1, best).float().mean()
            print(step, hit.item(), belongs.sum().item())
