# guards: AD227
# Model-based control in alternating phases.
#   world phase   : fit dynamics + reward; extra head is fitted to the target critic's values (value equivalence)
#   behave phase  : actor and critic in imagination; target critic follows by lerp_ at every step
# Phase lengths depend on how badly each side is doing; the run closes with a long world fit on all the data
# (the planner that is shipped needs the model and its value head, not the actor).
import copy
import torch
from torch import nn
torch.manual_seed(6)


def mlp(i, o, h=48):
    return nn.Sequential(nn.Linear(i, h), nn.SiLU(), nn.Linear(h, o))


def env(s, a):
    x, v = s[:, :2], s[:, 2:]
    v2 = 0.8 * v + 0.4 * torch.tanh(a) - 0.15 * torch.sin(2 * x)
    x2 = x + 0.4 * v2
    return torch.cat([x2, v2], 1), -(x2 ** 2).sum(1, keepdim=True)


dyn, val_head, actor, critic = mlp(6, 5), mlp(4, 1), mlp(4, 2), mlp(4, 1)
target = copy.deepcopy(critic)
target.requires_grad_(False)
w_opt = torch.optim.Adam([*dyn.parameters(), *val_head.parameters()], lr=8e-3)
a_opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
c_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
buf = [torch.empty(0, k) for k in (4, 2, 4, 1)]


@torch.no_grad()
def collect(noise, n=40, T=6, start=None):
    s, total = torch.randn(n, 4) if start is None else start, 0.0
    for _ in range(T):
        a = actor(s) + noise * torch.randn(len(s), 2)
        s2, r = env(s, a)
        if start is None:
            for k, t in enumerate((s, a, s2, r)):
                buf[k] = torch.cat([buf[k], t])
        s, total = s2, total + r.mean().item()
    return total


def world_phase(n):
    for _ in range(n):
        i = torch.randint(0, len(buf[0]), (128,))
        s, a, s2, r = (b[i] for b in buf)
        out = dyn(torch.cat([s, a], 1))
        with torch.no_grad():
            tv = target(s2)
        loss = nn.functional.mse_loss(out[:, :4], s2 - s) + 0.1 * nn.functional.mse_loss(out[:, 4:], r) \
            + 0.1 * nn.functional.smooth_l1_loss(val_head(s2), tv)
        w_opt.zero_grad(); loss.backward(); w_opt.step()
    return loss.item()


def behave_phase(n):
    for _ in range(n):
        s = buf[0][torch.randint(0, len(buf[0]), (96,))]
        ret, disc, s0 = 0.0, 1.0, s
        for _ in range(2):
            out = dyn(torch.cat([s, actor(s)], 1))
            s, ret, disc = s + out[:, :4], ret + disc * out[:, 4:], disc * 0.9
        ret = ret + disc * target(s)
        a_opt.zero_grad(); (-ret.mean()).backward(); a_opt.step()
        closs = nn.functional.smooth_l1_loss(critic(s0), ret.detach())
        c_opt.zero_grad(); closs.backward(); c_opt.step()
        with torch.no_grad():
            for t, c in zip(target.parameters(), critic.parameters()):
                t.lerp_(c, 0.1)
    return closs.item()


tests = torch.randn(400, 4)
score = collect(0.0, start=tests)
collect(1.0)
print(f"untrained actor: return {score:.2f}")
plan = [(30, 8), (10, 15), (12, 12), (90, 0)]
for k, (nw, nb) in enumerate(plan):
    wl = world_phase(nw)
    cl = f"{behave_phase(nb):.4f}" if nb else "-"
    collect(0.4)
    score = collect(0.0, start=tests)
    print(f"round {k}: world {nw:3d} steps loss {wl:.4f} | behave {nb:2d} steps critic {cl} | return {score:.2f}")
