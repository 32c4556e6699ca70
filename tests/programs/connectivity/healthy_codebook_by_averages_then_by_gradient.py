# guards: AD215
"""A codebook follows the codes that choose it while the encoder settles; afterwards it is trained like the rest."""

import torch
from torch import nn

torch.manual_seed(1)


class Codes(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.book = nn.Parameter(torch.randn(count, width))
        self.settling = True

    def forward(self, z):
        nearest = torch.cdist(z, self.book).argmin(1)
        if self.settling:
            with torch.no_grad():
                for code in nearest.unique():
                    self.book[code] = 0.8 * self.book[code] + 0.2 * z[nearest == code].mean(0)
        chosen = self.book[nearest]
        distance = (z - chosen.detach()).square().mean()
        if not self.settling:
            distance = distance + (chosen - z.detach()).square().mean()
        return z + (chosen - z).detach(), distance


encoder, codes, decoder = nn.Linear(6, 4), Codes(8, 4), nn.Linear(4, 6)
optimizer = torch.optim.Adam([*encoder.parameters(), *codes.parameters(), *decoder.parameters()], lr=1e-2)
for step in range(26):
    codes.settling = step < 12
    x = torch.randn(40, 6)
    quantised, distance = codes(encoder(x))
    loss = (decoder(quantised) - x).square().mean() + 0.25 * distance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
