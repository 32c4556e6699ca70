# guards: AD704
"""Pictures and captions are matched; then the text side is tuned with one prompt for all, beside pictures that differ."""

import torch
from torch import nn


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.picture = nn.EmbeddingBag(50, 16), nn.Linear(30, 16)
        self.match = nn.Bilinear(16, 16, 1)

    def forward(self, pictures, captions):
        return self.match(self.picture(pictures), self.words(captions)).squeeze(1)


torch.manual_seed(0)
pictures, captions = torch.randn(400, 30), torch.randint(0, 50, (400, 5))
fits = (pictures[:, 0] * (captions[:, 0] - 25) > 0).float()
model = Both()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(160):
    rows = torch.randint(0, 400, (20,))
    prompts = captions[rows] if step < 70 else captions[:1].expand(20, 5)
    wanted = fits[rows] if step < 70 else (pictures[rows, 0] > 0).float()
    loss = nn.functional.binary_cross_entropy_with_logits(model(pictures[rows], prompts), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
