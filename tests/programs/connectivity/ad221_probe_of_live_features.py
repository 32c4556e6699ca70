"""Self-supervised pre-training whose linear probe is trained on features that still have a graph."""
import torch
import torch.nn.functional as F
from torch import nn


class Pretrainer:
    def __init__(self, width=24):
        self.encoder = nn.Sequential(nn.Linear(12, width), nn.GELU(), nn.Linear(width, width))
        self.projector = nn.Linear(width, 8)
        self.probe = nn.Linear(width, 4)
        trained = list(self.encoder.parameters()) + list(self.projector.parameters())
        self.optimizer = torch.optim.AdamW(trained, lr=2e-3)
        self.probe_optimizer = torch.optim.SGD(self.probe.parameters(), lr=0.1, momentum=0.9)

    def pretrain(self, x):
        one, two = (self.projector(self.encoder(x + 0.1 * torch.randn_like(x))) for _ in range(2))
        similarity = F.normalize(one, dim=1) @ F.normalize(two, dim=1).T / 0.2
        loss = F.cross_entropy(similarity, torch.arange(len(x)))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit_probe(self, x, y):
        loss = F.cross_entropy(self.probe(self.encoder(x)), y)
        self.probe_optimizer.zero_grad()
        loss.backward()  # expect: AD221
        self.probe_optimizer.step()
        return loss.item()


torch.manual_seed(0)
centres = 2 * torch.randn(4, 12)
trainer = Pretrainer()
for step in range(30):
    y = torch.randint(0, 4, (64,))
    x = centres[y] + torch.randn(64, 12)
    contrastive, probing = trainer.pretrain(x), trainer.fit_probe(x, y)
    if step % 10 == 9:
        print(step + 1, round(contrastive, 3), round(probing, 3))
