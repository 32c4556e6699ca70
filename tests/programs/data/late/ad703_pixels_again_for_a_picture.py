"""Images are put back to pixels for a picture of the epoch, and stay so."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
pixels = torch.randint(0, 256, (640, 1, 8, 8)).float()
labels = (pixels[:, :, :4].mean((1, 2, 3)) > pixels[:, :, 4:].mean((1, 2, 3))).long()
images = pixels / 255
loader = DataLoader(TensorDataset(images, labels), batch_size=20, shuffle=True)
model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(6):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)  # expect: AD703
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch == 1:
        grid = images.mul_(255).byte()[:16]
