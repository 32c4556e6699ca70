# guards: AD226
"""ICP by gradient descent: a rigid transform is learned from nearest points; a colour map is fitted to what was matched."""
import torch
torch.manual_seed(1)
model_pts = torch.rand(300, 3) * torch.tensor([2.0, 1.0, 0.5])
model_rgb = torch.stack([model_pts[:, 0] / 2, model_pts[:, 1], model_pts[:, 2] * 2], 1)

def rodrigues(w):
    t = w.norm() + 1e-8
    k = w / t
    K = torch.zeros(3, 3)
    K = torch.stack([torch.stack([K[0, 0], -k[2], k[1]]), torch.stack([k[2], K[0, 0], -k[0]]), torch.stack([-k[1], k[0], K[0, 0]])])
    return torch.eye(3) + t.sin() * K + (1 - t.cos()) * K @ K

w_true = torch.tensor([0.15, -0.1, 0.2])
scan = (model_pts[:200] - 0.1) @ rodrigues(w_true)
exposure = torch.tensor([1.3, 0.8, 1.1])
scan_rgb = model_rgb[:200] * exposure + 0.02 * torch.randn(200, 3)

w = torch.nn.Parameter(torch.full((3,), 1e-3))
t = torch.nn.Parameter(torch.zeros(3))
gain = torch.nn.Parameter(torch.ones(3))          # photometric calibration
opt = torch.optim.Adam([w, t, gain], lr=0.01)
for i in range(250):
    moved = scan @ rodrigues(w).T + t
    nearest = torch.cdist(moved, model_pts).argmin(1)
    geometric = (moved - model_pts[nearest]).pow(2).sum(1).mean()
    photometric = (model_rgb[nearest] * gain - scan_rgb).pow(2).mean()
    loss = geometric + photometric
    opt.zero_grad(); loss.backward(); opt.step()
    if i % 50 == 0 or i == 249:
        print(i, "geo %.5f photo %.5f" % (geometric.item(), photometric.item()))
print("angle error", (w - w_true).norm().item(), "gain", gain.tolist())
