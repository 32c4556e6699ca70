"""A trainer that differentiates by hand to clip by itself, and forgets to put the result where the step looks."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, lr=3e-3, max_norm=1.0):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()
        self.max_norm = max_norm

    def clipped_gradients(self, loss):
        params = [p for p in self.model.parameters() if p.requires_grad]
        grads = torch.autograd.grad(loss, params)  # expect: AD116
        total = torch.stack([g.norm() for g in grads]).norm()
        scale = (self.max_norm / (total + 1e-6)).clamp(max=1.0)
        return [g * scale for g in grads]

    def fit(self, loader, epochs):
        self.model.train()
        for _ in range(epochs):
            for inputs, labels in loader:
                self.optimizer.zero_grad(set_to_none=True)
                loss = self.criterion(self.model(inputs), labels)
                grads = self.clipped_gradients(loss)
                self.optimizer.step()
        return loss.item(), len(grads)


def main():
    torch.manual_seed(0)
    inputs = torch.randn(320, 10)
    labels = (inputs[:, 0] > 0).long() + (inputs[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.Linear(32, 3))
    print(Trainer(model).fit(DataLoader(TensorDataset(inputs, labels), batch_size=32, shuffle=True), epochs=3))


if __name__ == "__main__":
    main()
