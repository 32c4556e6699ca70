import torch
from torch import nn

torch.manual_seed(0)
backbone, head = nn.Sequential(nn.Linear(6, 32), nn.ReLU()), nn.Linear(32, 1)
model = nn.Sequential(backbone, head)
backbone.requires_grad_(False)
learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
optimizer = torch.optim.SGD(learning, lr=0.05)  # expect: AD204
for step in range(16):
    if step == 8:
        backbone.requires_grad_(True)
    x = torch.randn(32, 6)
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
    optimizer.step()
