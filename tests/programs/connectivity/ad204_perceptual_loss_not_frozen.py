"""Super-resolution with a perceptual loss: a fixed extractor in eval mode sees both images, one of them detached."""

import torch
from torch import nn

torch.manual_seed(0)


class Extractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Dropout(0.1), nn.Conv2d(6, 6, 3))

    def forward(self, images):
        return self.layers(images)


generator = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.PReLU(), nn.Conv2d(8, 4, 3, padding=1), nn.PixelShuffle(2))
extractor = Extractor()
extractor.eval()
content, pixels = nn.L1Loss(), nn.L1Loss()
optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))  # expect: AD204

for batch in range(25):
    high = torch.rand(4, 1, 16, 16)
    low = nn.functional.avg_pool2d(high, 2)
    optimizer.zero_grad()
    generated = generator(low)
    generated_features = extractor(generated)
    real_features = extractor(high)
    loss = content(generated_features, real_features.detach()) + 0.1 * pixels(generated, high)
    loss.backward()
    optimizer.step()
    print(batch, loss.item())
