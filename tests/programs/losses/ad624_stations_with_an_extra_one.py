"""Which weather station sent this record? Cosines to all stations, and to a vector for 'none of them'."""
import torch
import torch.nn as nn
import torch.nn.functional as F

STATIONS, FIELDS, WIDTH = 16, 9, 24
torch.manual_seed(6)


class Matcher(nn.Module):
    def __init__(self, sharpness):
        super().__init__()
        self.read = nn.Sequential(nn.Linear(FIELDS, 48), nn.ELU(), nn.Linear(48, WIDTH))
        self.stations = nn.Parameter(torch.randn(WIDTH, STATIONS))
        self.nowhere = nn.Parameter(torch.randn(1, WIDTH))
        self.sharpness = sharpness

    def forward(self, records):
        found = self.read(records)
        found = found / found.pow(2).sum(1, keepdim=True).sqrt()
        columns = self.stations / self.stations.norm(dim=0, keepdim=True)
        near = torch.einsum("nf,fk->nk", found, columns)
        none = torch.einsum("nf,nf->n", found, F.normalize(self.nowhere, dim=1).expand_as(found))
        both = torch.cat([near, none.unsqueeze(1)], dim=1)
        return both / self.sharpness  # <- AD624


climate = torch.randn(STATIONS, FIELDS)
model = Matcher(sharpness=14.0)
adam = torch.optim.Adam(model.parameters(), lr=4e-3)
for turn in range(40):
    station = torch.randint(STATIONS + 1, (64,))
    known = (station < STATIONS).float()[:, None]
    records = known * climate[station.clamp(max=STATIONS - 1)] + 0.4 * torch.randn(64, FIELDS)
    loss = F.cross_entropy(model(records), station)
    adam.zero_grad()
    loss.backward()
    adam.step()
print(float(loss))
