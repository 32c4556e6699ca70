# guards: AD102
import torch

torch.manual_seed(0)
first, second = torch.nn.Linear(4, 3), torch.nn.Linear(3, 1)
turns = [torch.optim.SGD(model.parameters(), lr=0.05) for model in (first, second)]
for _ in range(6):
    for turn in turns:
        inputs = torch.randn(16, 4)
        for optimizer in turns:
            optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(second(first(inputs)), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        turn.step()
