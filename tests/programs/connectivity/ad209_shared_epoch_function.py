"""One function runs training and validation epochs, and the validation call has no `no_grad` around it."""
import torch
from torch import nn


def run_epoch(model, batches, loss_fn, optimizer=None):
    total = 0.0
    model.train(optimizer is not None)
    for x, y in batches:
        loss = loss_fn(model(x), y)  # expect: AD209
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item()
    return total / len(batches)


def batches_of(count):
    inputs = torch.randn(count, 32, 10)
    return [(x, x[:, :1].sin()) for x in inputs]


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 32), nn.SiLU(), nn.Dropout(0.1), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    train, held_out = batches_of(8), batches_of(3)
    for epoch in range(4):
        fit = run_epoch(model, train, nn.functional.mse_loss, optimizer)
        validation = run_epoch(model, held_out, nn.functional.mse_loss)
        print(epoch, fit, validation)


main()
