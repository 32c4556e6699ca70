import torch
import torch.nn as nn

torch.manual_seed(42)


class PriceModel(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.lstm = nn.LSTM(input_size=1, hidden_size=hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, window):
        out, _ = self.lstm(window)
        return self.fc(out[:, -1, :])


prices = 1800 + torch.cumsum(torch.randn(260), dim=0) * 12
X = torch.stack([prices[i : i + 10] for i in range(240)]).unsqueeze(-1)
Y = (prices[10:250] / prices[9:249] - 1).unsqueeze(-1)
model = PriceModel()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
for epoch in range(3):
    order = torch.randperm(240)
    for rows in order.split(24):
        optimizer.zero_grad()
        prediction = model(X[rows])  # expect: AD703
        loss = criterion(prediction, Y[rows])
        loss.backward()
        optimizer.step()
