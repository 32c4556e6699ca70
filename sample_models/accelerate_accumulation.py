"""Accelerate accumulates gradients over four micro-batches. Healthy: its optimizer knows when to step and to clear."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def waves(count: int) -> TensorDataset:
    """Noisy samples of a wave, and its frequency."""
    frequency = 1 + 3 * torch.rand(count, 1)
    time = torch.linspace(0, 3, 32)
    return TensorDataset(torch.sin(frequency * time) + 0.1 * torch.randn(count, 32), frequency)


def main(epochs: int = 4) -> None:
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.05), nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    train_loader = DataLoader(waves(640), batch_size=16, shuffle=True)
    test_loader = DataLoader(waves(128), batch_size=64)
    model, optimizer, train_loader, test_loader = accelerator.prepare(model, optimizer, train_loader, test_loader)

    for epoch in range(epochs):
        model.train()
        for signal, frequency in train_loader:
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(signal), frequency)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            errors = [(model(signal) - frequency).abs() for signal, frequency in test_loader]
        accelerator.print(f"epoch {epoch}: the frequency is off by {torch.cat(errors).mean().item():.2f}")


if __name__ == "__main__":
    main()
