# Pump sensors: restore the window, and tell whether it was an alarm. The alarm has one output.
import torch
import torch.nn.functional as F

torch.manual_seed(7)
enc = torch.nn.Sequential(torch.nn.Linear(12, 24), torch.nn.ReLU(), torch.nn.Linear(24, 6))
dec = torch.nn.Linear(6, 12)
alarm_head = torch.nn.Linear(6, 1)
params = [p for m in (enc, dec, alarm_head) for p in m.parameters()]
optim = torch.optim.RMSprop(params, lr=2e-3)

for i in range(30):
    window = torch.randn(32, 12)
    alarm = (window.abs().amax(1, keepdim=True) > 2.2).float()
    code = enc(window)
    restored = F.mse_loss(dec(code), window)
    detected = F.cross_entropy(alarm_head(code), alarm)  # expect: AD613
    optim.zero_grad()
    (restored + 0.5 * detected).backward()
    optim.step()
