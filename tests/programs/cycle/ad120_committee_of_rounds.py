"""Beats of a heart, good or bad: after each round its weights join a mean, which a second network is given at the end."""
import torch
from torch import nn


def network():
    return nn.Sequential(
        nn.Conv1d(1, 8, 5, stride=2), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 8, 3), nn.BatchNorm1d(8), nn.ReLU(),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 2),
    )


def beats(count):
    bad = torch.randint(0, 2, (count,))
    time = torch.linspace(0, 12, 48)
    wave = torch.sin(time * (1.0 + 0.5 * bad[:, None])) + 0.4 * torch.randn(count, 48)
    return 5 + 2 * wave[:, None], bad


@torch.no_grad()
def right(net, wave, bad):
    net.eval()
    share = (net(wave).argmax(1) == bad).float().mean().item()  # <- AD120
    net.train()
    return share


torch.manual_seed(41)
net, committee = network(), network()
mean = {}
held_out = beats(80)
sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for turn in range(1, 6):
    for _ in range(5):
        wave, bad = beats(32)
        loss = nn.functional.cross_entropy(net(wave), bad)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
    print(turn, loss.item(), right(net, *held_out))
    for name, weight in net.named_parameters():
        if turn == 1:
            mean[name] = weight.detach().clone()
        else:
            mean[name].mul_(1 - 1 / turn).add_(weight.detach(), alpha=1 / turn)
committee.load_state_dict({**net.state_dict(), **mean})
print("committee", right(committee, *held_out))
