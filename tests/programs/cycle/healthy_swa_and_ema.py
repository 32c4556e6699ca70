# guards: AD120 AD108
"""Averages of the weights by `swa_utils`, with two schedulers that take turns."""

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(256, 6)
loader = DataLoader(TensorDataset(x, (x[:, 0] > x[:, 1]).long()), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Linear(6, 20), nn.BatchNorm1d(20), nn.ReLU(), nn.Linear(20, 2))
swa, ema = AveragedModel(net), AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.9))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=6)
late = SWALR(opt, swa_lr=0.02, anneal_epochs=1)
for epoch in range(6):
    for bx, by in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(bx), by)
        loss.backward()
        opt.step()
        ema.update_parameters(net)
    if epoch >= 3:
        swa.update_parameters(net)
        late.step()
    else:
        cosine.step()
update_bn(loader, swa)
swa.eval()
with torch.inference_mode():
    print((swa(x).argmax(-1) == (x[:, 0] > x[:, 1])).float().mean().item())
