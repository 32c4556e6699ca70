# guards: AD708
import torch
from torch import nn

torch.manual_seed(0)
body, heads = nn.Embedding(20, 16), nn.ModuleList(nn.Linear(16, 20) for _ in range(2))
model = nn.Sequential(body, nn.Tanh())
optimizer = torch.optim.Adam([*model.parameters(), *heads.parameters()], lr=1e-2)
for _ in range(8):
    tokens = torch.randint(0, 20, (16, 14))
    hidden = model(tokens)
    loss = sum(
        nn.functional.cross_entropy(head(hidden)[:, : -1 - far].flatten(0, 1), tokens[:, 1 + far :].flatten())
        for far, head in enumerate(heads)
    )
    optimizer.zero_grad()
    torch.as_tensor(loss).backward()
    optimizer.step()
