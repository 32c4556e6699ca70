"""Classification of sensor windows with torch's transformer encoder."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class WindowClassifier(nn.Module):
    def __init__(self, channels=5, width=16, classes=3):
        super().__init__()
        self.project = nn.Linear(channels, width)
        self.position = nn.Parameter(torch.zeros(1, 12, width))
        layer = nn.TransformerEncoderLayer(d_model=width, nhead=4, dim_feedforward=32, dropout=0.1)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.classify = nn.Linear(width, classes)

    def forward(self, windows):
        tokens = self.project(windows) + self.position
        encoded = self.encoder(tokens)  # expect: AD608
        return self.classify(encoded.mean(dim=1))


def main():
    torch.manual_seed(4)
    windows = torch.randn(240, 12, 5)
    kinds = windows.mean((1, 2)).mul(8).round().clamp(-1, 1).long() + 1
    loader = DataLoader(TensorDataset(windows, kinds), batch_size=20, shuffle=True)
    model = WindowClassifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=24)
    for epoch in range(2):
        for batch, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(batch), labels)
            loss.backward()
            optimizer.step()
            scheduler.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
