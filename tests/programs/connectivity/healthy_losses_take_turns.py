# guards: AD219
"""Word2vec-like model with two objectives, both computed each step, of which one is trained in turn."""
import torch
from torch import nn
import torch.nn.functional as F


class Embeddings(nn.Module):
    def __init__(self, n=40, d=12):
        super().__init__()
        self.inp, self.out = nn.Embedding(n, d), nn.Embedding(n, d)
        self.tag = nn.Linear(d, 4)

    def losses(self, center, context, negative, tag):
        c = self.inp(center)
        pos = F.logsigmoid((c * self.out(context)).sum(-1))
        neg = F.logsigmoid(-(c.unsqueeze(1) * self.out(negative)).sum(-1)).sum(1)
        return {"sgns": -(pos + neg).mean(), "tag": F.cross_entropy(self.tag(c), tag)}


torch.manual_seed(0)
model = Embeddings()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
history = {"sgns": [], "tag": []}
for step in range(40):
    center = torch.randint(0, 40, (128,))
    context = (center // 10) * 10 + torch.randint(0, 10, (128,))
    losses = model.losses(center, context, torch.randint(0, 40, (128, 3)), center // 10)
    turn = "tag" if step % 2 else "sgns"
    optimizer.zero_grad()
    losses[turn].backward()
    optimizer.step()
    history[turn].append(losses[turn].item())
print({k: (round(v[0], 3), round(v[-1], 3)) for k, v in history.items()})
