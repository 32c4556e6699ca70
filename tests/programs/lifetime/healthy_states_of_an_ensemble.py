# guards: AD310
"""An ensemble: each member is a model of its own, and its state is listed when it has been trained."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(90, 4)
y = x.prod(1, keepdim=True)
states = []
for member in range(4):
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(4):
        for rows in torch.randint(0, 90, (90,)).split(30):
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    states.append({k: v for k, v in model.state_dict().items()})
answers = []
for state in states:
    model.load_state_dict(state)
    model.eval()
    with torch.no_grad():
        answers.append(model(x))
