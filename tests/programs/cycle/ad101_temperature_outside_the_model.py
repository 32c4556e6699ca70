import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 3)
log_temperature = torch.nn.Parameter(torch.zeros(()))
optimizer = torch.optim.SGD([*model.parameters(), log_temperature], lr=0.05)
for _ in range(10):
    inputs = torch.randn(32, 4)
    scores = model(inputs) * log_temperature.exp()
    loss = torch.nn.functional.cross_entropy(scores, inputs[:, :3].argmax(dim=1))
    model.zero_grad()
    loss.backward()
    optimizer.step()  # expect: AD101
