# guards: AD101
import torch

torch.manual_seed(0)
body, head = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
slow, fast = torch.optim.SGD(body.parameters(), lr=1e-3), torch.optim.SGD(head.parameters(), lr=1e-3)
for iteration in range(12):
    inputs = torch.randn(16, 4)
    loss = (head(body(inputs).tanh()) - inputs.sum(dim=1, keepdim=True)).square().sum()
    loss.backward()
    fast.step()
    fast.zero_grad()
    if iteration % 4 == 3:
        slow.step()
        slow.zero_grad()
