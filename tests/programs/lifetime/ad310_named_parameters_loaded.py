import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(12, 8), nn.Flatten(), nn.Linear(32, 12))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
kept = {}
for step in range(14):
    x = torch.randint(12, (16, 4))
    loss = nn.functional.cross_entropy(model(x), x[:, 0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 4:
        kept = {name: weight.detach().cpu() for name, weight in model.named_parameters()}  # expect: AD310
model.load_state_dict(kept)
