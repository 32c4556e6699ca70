# guards: AD729 AD716
"""Sentences packed without padding: heads are moved by what is before, places restart, and labels of relations do not."""
import torch
from torch import nn

torch.manual_seed(7)
sentences = []
for _ in range(160):
    n = int(torch.randint(4, 12, ()))
    words = torch.randint(30, (n,))
    heads = torch.cat([torch.zeros(1, dtype=torch.long), torch.randint(n, (n - 1,))])
    relation = (words + words[heads]) % 5
    sentences.append((words, heads, relation))

embed = nn.Embedding(30, 32)
rotation = torch.outer(torch.arange(4096), 0.1 ** (torch.arange(16) / 16))
cosines, sines = rotation.cos(), rotation.sin()
kinds = nn.Parameter(torch.randn(5, 64) / 8)
mix = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64))
optimizer = torch.optim.Adam([*embed.parameters(), *mix.parameters(), kinds], lr=3e-3)

for epoch in range(4):
    for some in torch.randperm(len(sentences)).split(16):
        packed = [sentences[i] for i in some.tolist()]
        lengths = torch.tensor([len(words) for words, _, _ in packed])
        starts = lengths.cumsum(0) - lengths
        words = torch.cat([words for words, _, _ in packed])
        heads = torch.cat([heads for _, heads, _ in packed]) + starts.repeat_interleave(lengths)
        relation = torch.cat([relation for _, _, relation in packed])
        places = torch.cat([torch.arange(n) for n in lengths.tolist()])
        a, b = embed(words).chunk(2, -1)
        cos, sin = cosines[: len(words)][places], sines[: len(words)][places]
        turned = torch.cat([a * cos - b * sin, a * sin + b * cos], -1)
        pairs = mix(torch.cat([embed(words), embed(words)[heads] + 0.01 * turned], -1))
        loss = nn.functional.cross_entropy(pairs @ kinds.T, relation) + 0.1 * (pairs - kinds[relation]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
