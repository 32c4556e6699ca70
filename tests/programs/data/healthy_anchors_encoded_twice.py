# guards: AD716
import torch
from torch import nn

torch.manual_seed(3)
reader, item, link = nn.Embedding(40, 8), nn.Embedding(60, 8), nn.Embedding(3, 8)
encode = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 8))
optimizer = torch.optim.Adam(nn.ModuleList([reader, item, link, encode]).parameters(), lr=1e-2)
seen = torch.stack([torch.randint(0, 40, (300,)), torch.randint(0, 60, (300,)), torch.randint(0, 3, (300,))], 1)
centers = torch.randn(5, 6)
for _ in range(40):
    rows = torch.randint(0, len(seen), (32,))
    who, what, how = seen[rows].unbind(1)
    other = torch.randint(0, 60, (32,))
    liked, unknown = (reader(who) * item(what)).sum(1), (reader(who) * item(other)).sum(1)
    ranking = nn.functional.softplus(unknown - liked).mean()

    near = (reader(seen[rows, 0]) + link(seen[rows, 2]) - item(what)).norm(dim=1)
    far = (reader(seen[rows, 0]) + link(seen[rows, 2]) - item(other)).norm(dim=1)
    translated = torch.relu(0.5 + near - far).mean()

    kind = torch.randint(0, 5, (32,))
    anchor, same = centers[kind] + torch.randn(32, 6), centers[kind] + torch.randn(32, 6)
    apart = centers[(kind + 1) % 5] + torch.randn(32, 6)
    closer, further = encode(anchor) - encode(same), encode(anchor) - encode(apart)
    triplet = torch.relu(0.5 + closer.norm(dim=1) - further.norm(dim=1)).mean()
    loss = ranking + translated + triplet
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
