# guards: AD218 AD216
"""Black-box variational inference: sample() with log q in a score-function estimator and a leave-one-out baseline."""
import torch
from torch.distributions import Normal

torch.manual_seed(0)
true_w = torch.tensor([1.0, -2.0, 0.5])
X = torch.randn(100, 3)
Y = X @ true_w + 0.3 * torch.randn(100)

loc = torch.nn.Parameter(torch.zeros(3))
log_scale = torch.nn.Parameter(torch.full((3,), -1.0))
optimizer = torch.optim.Adam([loc, log_scale], lr=5e-2)
prior = Normal(torch.zeros(3), 2 * torch.ones(3))
S = 64

for step in range(40):
    q = Normal(loc, log_scale.exp())
    w = q.sample((S,))
    log_lik = Normal(X @ w.T, 0.3).log_prob(Y[:, None]).sum(0) / 100
    log_p = log_lik + prior.log_prob(w).sum(-1) / 100
    log_q = q.log_prob(w).sum(-1)
    f = (log_p - log_q / 100).detach()
    baseline = (f.sum() - f) / (S - 1)
    loss = -(log_q * (f - baseline)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step + 1, "elbo/n", f.mean().item(), "loc", [round(v, 2) for v in loc.tolist()])
