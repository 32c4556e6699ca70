import torch
import torch.nn.functional as F
from torch import nn


class SlowCopy:
    def __init__(self, module, momentum):
        self.momentum = momentum
        self.kept = {}
        for name, parameter in module.named_parameters():
            self.kept[name] = parameter.data  # expect: AD310

    def follow(self, module):
        for name, parameter in module.named_parameters():
            slow = self.kept[name]
            slow.mul_(self.momentum)
            slow.add_(parameter.data, alpha=1 - self.momentum)

    def predict(self, module, x):
        return torch.func.functional_call(module, self.kept, (x,))


torch.manual_seed(9)
centres = torch.randn(4, 12) * 2
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
slow = SlowCopy(net, 0.99)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(50):
    labels = torch.randint(0, 4, (16,))
    x = centres[labels] + torch.randn(16, 12)
    unlabelled = centres[torch.randint(0, 4, (32,))] + torch.randn(32, 12)
    with torch.no_grad():
        wanted = slow.predict(net, unlabelled).softmax(1)
    noisy = net(unlabelled + 0.3 * torch.randn_like(unlabelled))
    loss = F.cross_entropy(net(x), labels) + 0.1 * F.kl_div(noisy.log_softmax(1), wanted, reduction="batchmean")
    opt.zero_grad()
    loss.backward()
    opt.step()
    slow.follow(net)
