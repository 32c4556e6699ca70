# guards: AD726
"""Half of each batch comes again in the next one, which is to agree with what was said of it then."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
x, kinds = torch.rand(96, 12), torch.randint(3, (96,))
model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
fresh, said = torch.randint(96, (8,)), None
for _ in range(40):
    again, fresh = fresh, torch.randint(96, (8,))
    rows = torch.cat([again, fresh])
    logits = model(x[rows])
    loss = F.cross_entropy(logits, kinds[rows])
    if said is not None:
        loss = loss + F.kl_div(logits[:8].log_softmax(dim=1), said, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    said = logits[8:].detach().softmax(dim=1)
