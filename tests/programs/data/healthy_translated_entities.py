# guards: AD716
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

torch.manual_seed(2)
SIDE = 6
steps = torch.tensor([[0, 1], [1, 0], [0, -1]])
places = torch.cartesian_prod(torch.arange(SIDE), torch.arange(SIDE))
rows = []
for relation, step in enumerate(steps):
    moved = places + step
    inside = ((moved >= 0) & (moved < SIDE)).all(1)
    head = places[inside] @ torch.tensor([SIDE, 1])
    tail = moved[inside] @ torch.tensor([SIDE, 1])
    rows.append(torch.stack([head, torch.full_like(head, relation), tail], 1))
facts = torch.cat(rows)


class Translation(nn.Module):
    def __init__(self):
        super().__init__()
        self.entity = nn.Embedding(SIDE * SIDE, 12)
        self.relation = nn.Embedding(len(steps), 12)

    def energy(self, h, r, t):
        return (self.entity(h) + self.relation(r) - self.entity(t)).norm(dim=-1)


model = Translation()
opt = torch.optim.Adagrad(model.parameters(), lr=0.1)
for epoch in range(8):
    for batch in DataLoader(facts, batch_size=24, shuffle=True):
        h, r, t = batch.unbind(1)
        wrong = torch.randint(0, SIDE * SIDE, h.shape)
        flip = torch.rand(len(h)) < 0.5
        bad_h, bad_t = torch.where(flip, wrong, h), torch.where(flip, t, wrong)
        loss = nn.functional.relu(1.0 + model.energy(h, r, t) - model.energy(bad_h, r, bad_t)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
