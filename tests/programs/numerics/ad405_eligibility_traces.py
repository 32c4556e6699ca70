import torch

torch.manual_seed(52)
features, actions = 12, 3
value = torch.nn.Linear(features, 1)
optim = torch.optim.SGD(value.parameters(), lr=1e-4)
traces = torch.zeros(features)
gamma, lam = 1.0, 1.4
for t in range(80):
    obs = torch.rand(features)
    with torch.no_grad():
        traces.mul_(gamma * lam)  # expect: AD405
        traces.add_(obs)
    returns = obs.sum()
    loss = (value(traces) - returns).square().mean()
    optim.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_value_(value.parameters(), 0.1)
    optim.step()
