import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for batch in range(24):
    inputs = torch.randn(4, 4)
    optimizer.zero_grad()  # expect: AD102
    loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True)) / 3
    loss.backward()
    if batch % 3 == 2:
        optimizer.step()
