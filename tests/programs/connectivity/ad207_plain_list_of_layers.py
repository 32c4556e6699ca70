"""A deep MLP keeps its hidden layers in a plain list."""
import torch
import torch.nn as nn
import torch.optim as optim


class DeepMLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.first = nn.Linear(sizes[0], sizes[1])
        self.hidden = [nn.Linear(a, b) for a, b in zip(sizes[1:-2], sizes[2:-1])]  # expect: AD207
        self.last = nn.Linear(sizes[-2], sizes[-1])
        self.activation = nn.ELU()

    def forward(self, x):
        x = self.activation(self.first(x))
        for layer in self.hidden:
            x = self.activation(layer(x))
        return self.last(x)


def main():
    torch.manual_seed(0)
    model = DeepMLP([4, 32, 32, 32, 1])
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(50):
        x = torch.rand(100, 4) - 0.5
        y = (x**2).sum(1, keepdim=True)
        loss = nn.functional.l1_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 10 == 0:
            print(f"Epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
