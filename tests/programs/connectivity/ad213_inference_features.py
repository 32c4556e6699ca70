"""Features are cached under `inference_mode` and then trained on: autograd refuses to save them."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LinearProbe:
    def __init__(self, encoder, dim, classes):
        self.encoder = encoder.eval()
        self.probe = nn.Linear(dim, classes)
        self.optimizer = torch.optim.SGD(self.probe.parameters(), lr=0.1)

    def extract(self, loader):
        feats, labels = [], []
        with torch.inference_mode():  # expect: AD213
            for x, y in loader:
                feats.append(self.encoder(x))
                labels.append(y)
            return torch.cat(feats), torch.cat(labels)

    def fit(self, loader, epochs=12):
        feats, labels = self.extract(loader)
        for epoch in range(epochs):
            loss = nn.functional.cross_entropy(self.probe(feats), labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    centers = torch.randn(4, 16)
    labels = torch.randint(0, 4, (256,))
    dataset = TensorDataset(centers[labels] + 0.5 * torch.randn(256, 16), labels)
    encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU()).requires_grad_(False)
    LinearProbe(encoder, 32, 4).fit(DataLoader(dataset, batch_size=64, shuffle=True))
