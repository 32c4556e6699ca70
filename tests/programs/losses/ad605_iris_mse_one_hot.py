"""Three kinds of flowers, with one-hot targets and a squared error."""

import torch

torch.manual_seed(9)


class Iris(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(4, 12)
        self.out = torch.nn.Linear(12, 3)

    def forward(self, x):
        x = torch.nn.functional.leaky_relu(self.hidden(x))
        return self.out(x).softmax(dim=0)  # expect: AD605


X = torch.randn(90, 4)
kind = (X[:, 0] > 0).long() + (X[:, 1] > 0.3).long()
Y = torch.eye(3)[kind]
net = Iris()
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
mse = torch.nn.MSELoss()
for epoch in range(40):
    optimizer.zero_grad()
    loss = mse(net(X), Y)
    loss.backward()
    optimizer.step()
