"""Iterative refinement network: the losses of the intermediate predictions are averaged through torch.tensor(list) (AD217)."""
import torch
from torch import nn
import torch.nn.functional as F


class RefineNet(nn.Module):
    """One update block, applied n_iters times, in the spirit of RAFT."""

    def __init__(self, d_obs=12, d_out=4, hidden=32, n_iters=4):
        super().__init__()
        self.context = nn.Linear(d_obs, hidden)
        self.update = nn.GRUCell(d_out, hidden)
        self.delta = nn.Linear(hidden, d_out)
        self.n_iters = n_iters

    def forward(self, obs):
        h = torch.tanh(self.context(obs))
        flow = obs.new_zeros(obs.size(0), self.delta.out_features)
        preds = []
        for _ in range(self.n_iters):
            h = self.update(flow, h)
            flow = flow + self.delta(h)
            preds.append(flow)
        return preds


def sequence_loss(preds, gt, gamma=0.8):
    *early, final = [F.l1_loss(p, gt) for p in preds]
    n = len(early)
    weighted = torch.tensor([gamma ** (n - i) * l.item() for i, l in enumerate(early)])
    return final + weighted.mean()  # expect: AD217


def main():
    torch.manual_seed(0)
    W = torch.randn(12, 4) / 3
    net = RefineNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=4e-3)
    for step in range(30):
        obs = torch.randn(64, 12)
        gt = torch.tanh(obs @ W)
        loss = sequence_loss(net(obs), gt)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 9:
            print(step + 1, loss.item())


main()
