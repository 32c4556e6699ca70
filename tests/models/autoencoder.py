from torch import nn


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 12))
        self.decoder = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 784), nn.Sigmoid())

    def forward(self, img):
        flat = img.view(-1, 28 * 28)
        return self.decoder(self.encoder(flat))
