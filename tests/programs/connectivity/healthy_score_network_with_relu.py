# guards: AD225
import torch
import torch.nn as nn
import torch.nn.functional as F


class ScoreNet(nn.Module):
    def __init__(self, d=2, h=64):
        super().__init__()
        self.l1 = nn.Linear(d, h)
        self.l2 = nn.Linear(h, h)
        self.l3 = nn.Linear(h, d)

    def forward(self, x):
        x = F.relu(self.l1(x))
        x = F.relu(self.l2(x))
        return self.l3(x)


def sliced_score_matching(score_net, samples, n_particles=1):
    dup = samples.unsqueeze(0).expand(n_particles, *samples.shape).contiguous().view(-1, samples.shape[1])
    dup.requires_grad_(True)
    vectors = torch.randn_like(dup)
    vectors = vectors / vectors.norm(dim=-1, keepdim=True)
    grad1 = score_net(dup)
    gradv = torch.sum(grad1 * vectors)
    grad2 = torch.autograd.grad(gradv, dup, create_graph=True)[0]
    loss1 = torch.sum(grad1 * vectors, dim=-1) ** 2 * 0.5
    loss2 = torch.sum(vectors * grad2, dim=-1)
    return (loss1 + loss2).mean()


def main():
    torch.manual_seed(0)
    means = torch.tensor([[1.5, 0.0], [-1.5, 0.0], [0.0, 1.5]])
    net = ScoreNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    ema = [p.detach().clone() for p in net.parameters()]
    for step in range(60):
        x = means[torch.randint(0, 3, (128,))] + 0.3 * torch.randn(128, 2)
        loss = sliced_score_matching(net, x, n_particles=2)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for e, p in zip(ema, net.parameters()):
                e.mul_(0.99).add_(p, alpha=0.01)
        if step % 20 == 0:
            print(step, loss.item())


main()
