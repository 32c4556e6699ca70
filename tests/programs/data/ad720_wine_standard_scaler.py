import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class StandardScaler:
    """As in the well-known library."""

    def fit(self, X):
        self.mean_, self.scale_ = X.mean(axis=0), X.std(axis=0)
        return self

    def transform(self, X):
        return (X - self.mean_) / self.scale_

    def fit_transform(self, X):
        return self.fit(X).transform(X)


rng = np.random.default_rng(3)
X = rng.gamma(2.0, [1.0, 3.0, 0.5, 10.0, 2.0, 7.0], size=(420, 6))
y = (np.log(X[:, 0] * X[:, 3]) + 0.3 * rng.standard_normal(420) > np.log(14)).astype(np.int64)
X_train, X_test, y_train, y_test = X[:300], X[300:], y[:300], y[300:]

scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.fit_transform(X_test)

torch.manual_seed(0)
train_dl = DataLoader(TensorDataset(torch.tensor(X_train).float(), torch.tensor(y_train)), batch_size=30, shuffle=True)
test_dl = DataLoader(TensorDataset(torch.tensor(X_test).float(), torch.tensor(y_test)), batch_size=50)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)


def evaluate(loader):
    net.eval()
    right = 0
    with torch.no_grad():
        for xb, yb in loader:
            right += (net(xb).argmax(1) == yb).sum().item()  # <- AD720
    return right / len(loader.dataset)


for epoch in range(3):
    net.train()
    for xb, yb in train_dl:
        loss = nn.functional.cross_entropy(net(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: train {evaluate(train_dl):.3f} test {evaluate(test_dl):.3f}")
