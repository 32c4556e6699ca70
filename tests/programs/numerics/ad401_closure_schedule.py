import torch

torch.manual_seed(81)
t = torch.linspace(0, 6, 80)
signal = 1.4 * torch.sin(1.1 * t + 0.3) + 0.02 * torch.randn(80)
amplitude, frequency, phase = (torch.nn.Parameter(torch.tensor(value)) for value in (1.0, 1.0, 0.0))
fit = torch.optim.SGD([amplitude, frequency, phase], lr=0.01)


def closure():
    fit.zero_grad()
    loss = (amplitude * torch.sin(frequency * t + phase) - signal).square().mean()
    loss.backward()
    return loss


remaining = torch.tensor(12.0)
for _ in range(20):
    remaining -= 1
    for group in fit.param_groups:
        group["lr"] = float(0.1 / remaining)
    fit.step(closure)  # expect: AD401
