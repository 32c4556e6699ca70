import torch

torch.manual_seed(0)
first, second = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
for _ in range(8):
    inputs = torch.randn(16, 4)
    for model in (first, second):
        optimizer.zero_grad()  # expect: AD102
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
    optimizer.step()
