# guards: AD604
import torch
from torch import nn

torch.manual_seed(5)
make, score = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1)), nn.Linear(6, 1)
optimizer = torch.optim.Adam([*make.parameters(), *score.parameters()], lr=5e-3)
waiting_times = torch.distributions.Gamma(2.0, 1.0).sample((500,))
features = torch.randn(300, 6)
bought = features @ torch.randn(6) > 0.5
for _ in range(40):
    drawn = waiting_times[torch.randint(0, 500, (30,))]
    made = make(torch.randn(30, 3))
    between = (made - drawn).abs().mean()
    own = (made - made.T).abs().sum() / (30 * 29)
    energy = 2 * between - own

    yes, no = features[bought], features[~bought]
    above = score(yes[torch.randint(0, len(yes), (24,))])
    below = score(no[torch.randint(0, len(no), (24,))])[:, 0]
    area = torch.relu(1 - (above - below)).square().mean()
    loss = energy + area
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
