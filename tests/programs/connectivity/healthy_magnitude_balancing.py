# guards: AD216
"""Dynamic balancing: every auxiliary loss is rescaled to the size of the main one by detached magnitudes used as factors."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def balance(main, *aux, share=0.3):
    total = main
    for term in aux:
        total = total + share * term * (main.detach() / term.detach().clamp_min(1e-8))
    return total


class UNetish(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down = nn.Conv1d(1, c, 3, padding=1)
        self.mid = nn.Conv1d(c, c, 3, padding=1)
        self.up = nn.Conv1d(2 * c, 2, 3, padding=1)

    def forward(self, x):
        d = F.relu(self.down(x))
        m = F.relu(self.mid(F.avg_pool1d(d, 2)))
        m = F.interpolate(m, scale_factor=2)
        out = self.up(torch.cat([d, m], 1))
        return out[:, :1], out[:, 1:]


def main():
    torch.manual_seed(0)
    net = UNetish()
    optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)
    for step in range(30):
        clean = torch.cumsum(torch.randn(16, 1, 32), -1) * 0.3
        noisy = clean + 0.3 * torch.randn_like(clean)
        rec, edge = net(noisy)
        l_rec = F.mse_loss(rec, clean)
        l_edge = F.binary_cross_entropy_with_logits(edge, (clean.diff(dim=-1, prepend=clean[..., :1]).abs() > 0.3).float())
        l_tv = rec.diff(dim=-1).abs().mean()
        loss = balance(l_rec, l_edge, 0.1 * l_tv)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(step + 1, "rec", l_rec.item(), "edge", l_edge.item())


main()
