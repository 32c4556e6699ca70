# guards: AD310
"""Every epoch's state goes to a file; the records that were written stay in a list for the names and sizes in them."""
import torch
import tempfile
from pathlib import Path
from torch import nn

torch.manual_seed(0)
folder = Path(tempfile.mkdtemp())
x = torch.randn(90, 1, 8)
y = x.mean((1, 2)).gt(0).long()
model = nn.Sequential(nn.Conv1d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
records = []
for epoch in range(6):
    for low in range(0, 90, 15):
        loss = nn.functional.cross_entropy(model(x[low : low + 15]), y[low : low + 15])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    records.append({"epoch": epoch, "state": model.state_dict(), "path": folder / f"{epoch}.pt"})
    torch.save(records[-1]["state"], records[-1]["path"])
print(sum(v.numel() for v in records[0]["state"].values()))
model.load_state_dict(torch.load(records[2]["path"]))
