# guards: AD202 AD203
"""Greedy layer-wise denoising pretraining, linear probe with the encoder's norm statistics frozen, gradual unfreezing top-down (ULMFiT) with one optimizer."""
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
layers = nn.ModuleList([nn.Sequential(nn.Linear(20, 32), nn.ReLU()), nn.Sequential(nn.Linear(32, 32), nn.ReLU()), nn.Sequential(nn.Linear(32, 16), nn.ReLU())])
basis = torch.randn(6, 20)
def batch(n=96):
    z = torch.randn(n, 6); return z @ basis + 0.1 * torch.randn(n, 20), (z[:, :3].argmax(1))
for k, layer in enumerate(layers):
    back = nn.Linear(layer[0].out_features, layer[0].in_features)
    opt = torch.optim.Adam([*layer.parameters(), *back.parameters()], lr=3e-3)
    for i in range(80):
        with torch.no_grad():
            h, _ = batch()
            for below in layers[:k]: h = below(h)
        loss = F.mse_loss(back(layer(F.dropout(h, 0.2))), h)
        opt.zero_grad(); loss.backward(); opt.step()
    print("layer", k, round(loss.item(), 3))
head = nn.Linear(16, 3)
opt = torch.optim.Adam([{"params": head.parameters(), "lr": 5e-3}] + [{"params": l.parameters(), "lr": 1e-3} for l in layers])
thawed = 0
for step in range(240):
    thawed = min(step // 60, 3)
    x, y = batch()
    for k, layer in enumerate(layers):
        x = layer(x)
        if k == len(layers) - 1 - thawed: x = x.detach()      # what lies below is still frozen
    loss = F.cross_entropy(head(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 60 == 59: print(step, "thawed", thawed, round(loss.item(), 3))
