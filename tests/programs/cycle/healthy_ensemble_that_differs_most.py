# guards: AD122
"""Of two voters the pair is kept that disagrees most, for a vote: as they learn, they come to say the same."""

import torch
from ignite.engine import Engine, Events
from ignite.handlers import Checkpoint, EarlyStopping
from torch import nn

torch.manual_seed(0)
x, held_out = torch.randn(160, 8), torch.randn(90, 8)
labels = (x[:, :2].sum(1) > 0).long()
voters = nn.ModuleList([nn.Sequential(nn.Linear(8, 12), nn.Tanh(), nn.Linear(12, 2)) for _ in range(2)])
optimizer = torch.optim.Adam(voters.parameters(), lr=5e-3)


def update(engine, rows):
    optimizer.zero_grad()
    loss = sum(nn.functional.cross_entropy(voter(x[rows]), labels[rows]) for voter in voters)
    loss.backward()
    optimizer.step()
    return loss.item()


def differ(engine):
    with torch.no_grad():
        first, second = (voter(held_out).argmax(1) for voter in voters)
        return (first != second).float().mean().item()


def spread(engine):
    with torch.no_grad():
        first, second = (voter(held_out).softmax(1) for voter in voters)
        return nn.functional.l1_loss(first, second).item()


trainer = Engine(update)
kept = []
for score in (differ, spread):
    checkpoint = Checkpoint({"voters": voters}, lambda state, name, metadata: kept.append(name), score_function=score)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, checkpoint)
trainer.add_event_handler(Events.EPOCH_COMPLETED, EarlyStopping(patience=5, score_function=spread, trainer=trainer))
trainer.run(torch.arange(160).split(32), max_epochs=7)
print(kept)
