# guards: AD412
import copy
import torch
import torch.nn as nn

torch.manual_seed(76)


def make_net():
    return nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))


rule = torch.randn(10, 4)


def batch(n=64, shift=0.0):
    x = torch.randn(n, 10) + shift
    return x, (x @ rule).argmax(1)


def run(net, opt, steps, shift, tag):
    for s in range(steps):
        x, y = batch(shift=shift)
        out = net(x)
        loss = nn.functional.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if s % (steps // 4) == 0:
            print(tag, s, f"{loss.item():.4f} {(out.argmax(1) == y).float().mean():.2f}")


net = make_net()
run(net, torch.optim.Adam(net.parameters(), lr=5e-3), 150, 0.0, "pretrain")
tuned = copy.deepcopy(net)
groups = [{"params": tuned[:4].parameters(), "lr": 1e-6}, {"params": tuned[4].parameters(), "lr": 1e-4}]
run(tuned, torch.optim.Adam(groups), 80, 0.3, "finetune")
