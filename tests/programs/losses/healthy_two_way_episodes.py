# guards: AD635
"""2-way 1-shot episodes: rows 0 and 1 of the batch are the two supports, each row is pulled to the support of its class."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(8)
Q = 14
encoder = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))
opt = torch.optim.Adam(encoder.parameters(), 3e-3)
basis = torch.randn(4, 20)
for episode in range(200):
    centres = torch.randn(2, 4) @ basis
    is_second = torch.cat([torch.tensor([False, True]), torch.rand(Q) > 0.5])
    way = is_second.long()
    x = centres[way] + 1.5 * torch.randn(Q + 2, 20)
    z = F.normalize(encoder(x), dim=1)
    anchor, other = z[way], z[1 - way]
    good = (z * anchor).sum(1)[2:]
    bad = (z * other).sum(1)[2:]
    loss = F.softplus((bad - good) * 5).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if episode % 50 == 0 or episode == 199:
        print(episode, loss.item())
