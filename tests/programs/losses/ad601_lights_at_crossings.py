"""Which of four phases a traffic light should show: queues in, a share of the cycle for each phase out."""
import torch

torch.manual_seed(11)
QUEUES, PHASES = 6, 4
best = torch.randn(QUEUES, PHASES)
first = torch.nn.Parameter(torch.randn(QUEUES, 24) * 0.4)
second = torch.nn.Parameter(torch.randn(24, PHASES) * 0.2)
solver = torch.optim.Adam([first, second], lr=5e-3)


def cycle_shares(queues):
    weight = torch.exp(torch.tanh(queues @ first) @ second)
    return weight / (weight.sum(dim=1).unsqueeze(1) + 1e-9)  # <- AD601


def surprise(scores, chosen):
    normed = scores - scores.logsumexp(dim=1, keepdim=True)
    return -normed[torch.arange(len(chosen)), chosen].mean()


for minute in range(40):
    queues = torch.randn(48, QUEUES)
    loss = surprise(cycle_shares(queues), (queues @ best).argmax(dim=1))
    solver.zero_grad()
    loss.backward()
    solver.step()
print(loss.item())
