import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)


def fit(batches: int, every: int) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        optimizer.zero_grad()
        for number in range(1, batches + 1):
            inputs = torch.randn(16, 4)
            loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
            (loss / every).backward()  # expect: AD104
            if number % every == 0:
                optimizer.step()
                optimizer.zero_grad()


fit(8, 4)
fit(3, 4)
