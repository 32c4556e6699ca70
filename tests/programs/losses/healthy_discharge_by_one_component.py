# guards: AD613 AD410
# hinted: AD613
'''River discharge from rain, as a mixture of log-normals; --components defaults to 1, plain heteroscedastic regression.'''
import argparse, math, torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument('--components', type=int, default=1)
args = ap.parse_args()

torch.manual_seed(11)
trunk = nn.Sequential(nn.Linear(3, 24), nn.Tanh())
heads = nn.ModuleDict({name: nn.Linear(24, args.components) for name in ('share', 'mean', 'spread')})
opt = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], lr=1e-2)

for it in range(40):
    rain = torch.rand(64, 3)
    level = rain.sum(1, keepdim=True) + (0.1 + rain[:, :1]) * 0.3 * torch.randn(64, 1)
    h = trunk(rain)
    share = heads['share'](h).log_softmax(dim=1)
    spread = heads['spread'](h).clamp(-4, 3)
    z = (level - heads['mean'](h)) * torch.exp(-spread)
    each = -0.5 * z ** 2 - spread - 0.5 * math.log(2 * math.pi)
    loss = -torch.logsumexp(share + each, dim=1).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    if it % 10 == 0: print(it, round(loss.item(), 3))
