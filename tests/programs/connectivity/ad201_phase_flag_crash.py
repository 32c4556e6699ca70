"""A train/eval function whose switch compares with the wrong word, so that training runs without gradients."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def run_epoch(model, loader, optimizer=None, phase="train"):
    model.train(phase == "train")
    losses = []
    with torch.set_grad_enabled(phase == "training"):  # expect: AD201
        for seq, target in loader:
            loss = nn.functional.mse_loss(model(seq), target)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            losses.append(loss.item())
    return sum(losses) / len(losses)


class LastStep(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 16, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


def sines(n):
    phase, freq = 6.28 * torch.rand(n, 1), 0.3 + 0.4 * torch.rand(n, 1)
    t = torch.arange(13)
    series = torch.sin(phase + freq * t)
    return TensorDataset(series[:, :-1].unsqueeze(2), series[:, -1:])


def main():
    torch.manual_seed(0)
    model = LastStep()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    train_loader = DataLoader(sines(256), batch_size=32, shuffle=True)
    val_loader = DataLoader(sines(64), batch_size=64)
    for epoch in range(4):
        train = run_epoch(model, train_loader, optimizer)
        val = run_epoch(model, val_loader, phase="val")
        print(f"{epoch}: train {train:.4f} val {val:.4f}")


if __name__ == "__main__":
    main()
