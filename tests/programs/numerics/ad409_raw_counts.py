# Engine knock detection, raw counts from the A/D converter
import torch
import torch.nn as nn

torch.manual_seed(55)
n = 1000
knock = torch.randint(0, 2, (n,)).float()
rpm = 800 + 5000 * torch.rand(n)
amp = 2000 + 300 * torch.randn(n) + 500 * knock
temp = 300 + 40 * torch.randn(n)
X = torch.stack([rpm, amp, temp], 1)


class Knock(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 20)
        self.b = nn.Linear(20, 20)
        self.c = nn.Linear(20, 1)

    def forward(self, x):
        x = torch.tanh(self.a(x))  # expect: AD409
        x = torch.tanh(self.b(x))
        return self.c(x)[:, 0]


net = Knock()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(12):
    perm = torch.randperm(n)
    correct = 0
    for k in range(0, n, 40):
        b = perm[k : k + 40]
        z = net(X[b])  # expect: AD703
        loss = nn.functional.binary_cross_entropy_with_logits(z, knock[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        correct += ((z > 0).float() == knock[b]).sum().item()
    print(epoch, round(loss.item(), 4), correct / n)
