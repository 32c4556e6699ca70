# guards: AD608
"""Monte-Carlo masking of spectrogram frames: the model masks in evaluation too, more where a clip is loud."""

import torch
from torch import nn

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self, bands=12, tags=4):
        super().__init__()
        self.frames = nn.Conv1d(bands, 24, 3, padding=1)
        self.head = nn.Linear(24, tags)

    def forward(self, clips):
        loud = clips.pow(2).mean(dim=(1, 2)) > 1.0
        clips = clips.clone()
        clips[loud] = clips[loud] * (torch.rand(int(loud.sum()), 1, clips.shape[2]) > 0.15)
        return self.head(torch.relu(self.frames(clips)).mean(dim=2))


model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_of = nn.BCEWithLogitsLoss()
prototypes = torch.randn(4, 12, 1)
for step in range(40):
    present = (torch.rand(24, 4) < 0.5).float()
    clips = torch.einsum("nk,kbt->nbt", present, prototypes) + 0.6 * torch.randn(24, 12, 20)
    optimizer.zero_grad()
    loss = loss_of(model(clips), present)
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        with torch.no_grad():
            votes = torch.stack([model(clips).sigmoid() for _ in range(8)])
        print(step, loss.item(), votes.std(0).mean().item())
