# guards: AD701
"""Forecasting one time series with an MLP over lags: full-batch on the first 30 % (the past), and after training a
walk-forward forecast from the model's own predictions alone, compared with the rest of the series by hand."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(4)
torch.manual_seed(0)
t = np.arange(400)
series = np.sin(t / 9) + 0.5 * np.sin(t / 4) + 0.05 * rng.normal(size=400)
LAGS, CUT = 12, 120
windows = np.lib.stride_tricks.sliding_window_view(series, LAGS)[:-1].astype("float32")
nexts = series[LAGS:].astype("float32")
windows, nexts = torch.from_numpy(windows.copy()), torch.from_numpy(nexts.copy())
net = nn.Sequential(nn.Linear(LAGS, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=1e-4)
for it in range(150):
    opt.zero_grad()
    out = net(windows[:CUT]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(out, nexts[:CUT])
    loss.backward()
    opt.step()
    if it % 50 == 49:
        print(it, loss.item())
state = windows[CUT - 1].clone()
forecast = []
with torch.no_grad():
    for _ in range(40):
        v = net(state)
        forecast.append(v.item())
        state = torch.cat([state[1:], v])
print("mae", np.abs(np.array(forecast) - nexts[CUT - 1:CUT + 39].numpy()).mean())
