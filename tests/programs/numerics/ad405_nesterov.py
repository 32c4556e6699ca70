import random
import torch
import torch.nn as nn

random.seed(39)
torch.manual_seed(39)

grid = torch.linspace(-1, 1, 200).unsqueeze(1)
curve = torch.sin(4 * grid) * grid + 0.3

model = nn.Sequential()
model.add_module("in", nn.Linear(1, 64))
model.add_module("act", nn.LeakyReLU(0.2))
model.add_module("mid", nn.Linear(64, 64))
model.add_module("act2", nn.LeakyReLU(0.2))
model.add_module("out", nn.Linear(64, 1))


def lr_lambda(epoch):
    return 1.0 if epoch < 30 else 3.0


sgd = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.95, nesterov=True)  # expect: AD405
for epoch in range(8):
    order = list(range(200))
    random.shuffle(order)
    for k in range(0, 200, 25):
        b = order[k : k + 25]
        out = model(grid[b])
        loss = (out - curve[b]).pow(2).sum()
        sgd.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 50.0)
        sgd.step()
        print(f"epoch {epoch} batch {k // 25} loss {loss.item():.5g}")
    if not torch.isfinite(loss) or loss > 1e12:
        print("giving up")
        break
