# guards: AD704 AD609
"""A deployed classifier forgets one class: its loss there goes up, while its answers elsewhere are held."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(3)
centres = torch.randn(5, 12) * 1.5
labels = torch.arange(5).repeat_interleave(80)
samples = centres[labels] + torch.randn(400, 12)

model = nn.Linear(12, 5)
model.load_state_dict({"weight": centres, "bias": -0.5 * centres.square().sum(1)})
with torch.no_grad():
    answers = model(samples).log_softmax(1)

rows = (labels == 2).nonzero().squeeze(1)
others = (labels != 2).nonzero().squeeze(1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(25):
    leave, stay = rows[torch.randperm(80)[:32]], others[torch.randperm(320)[:64]]
    held = F.kl_div(F.log_softmax(model(samples[stay]), 1), answers[stay], log_target=True, reduction="batchmean")
    loss = held - 0.2 * F.cross_entropy(model(samples[leave]), labels[leave])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
