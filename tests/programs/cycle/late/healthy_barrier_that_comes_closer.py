# guards: AD109
# hinted: AD109
"""Interior points: weights of a portfolio stay above zero by a barrier that is lowered from round to round."""

import torch

torch.manual_seed(2)
returns = 0.02 * torch.randn(120, 5) + torch.tensor([0.01, 0.004, -0.002, 0.006, 0.001])
mean, covariance = returns.mean(0), returns.T.cov()
shares = torch.full((5,), 0.2, requires_grad=True)


def round_of(barrier, steps=30):
    optimizer = torch.optim.RMSprop([shares], lr=2e-3, momentum=0.5)
    for _ in range(steps):
        risk = shares @ covariance @ shares * 40 - mean @ shares
        loss = risk + 5 * (shares.sum() - 1) ** 2 - barrier * shares.clamp(min=1e-6).log().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


barrier = 0.1
while barrier > 1e-3:
    print(f"{barrier:.4f} {round_of(barrier):.4f}", [round(share, 3) for share in shares.tolist()])
    barrier /= 2
