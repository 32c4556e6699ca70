"""Keeps the weights of the best epoch, and takes them back at the end of a short training."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
inputs = torch.randn(96, 10)
labels = (inputs.sum(1) > 0).long()
train_loader = DataLoader(TensorDataset(inputs[:64], labels[:64]), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(inputs[64:], labels[64:]), batch_size=32)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
        self.criterion = nn.CrossEntropyLoss()
        self.best_accuracy = -1.0

    def validate(self):
        self.model.eval()
        with torch.no_grad():
            hits = sum((self.model(x).argmax(1) == y).sum().item() for x, y in val_loader)
        return hits / len(val_loader.dataset)

    def fit(self, epochs):
        best_model_wts = self.model.state_dict()
        for epoch in range(epochs):
            self.model.train()
            for x, y in train_loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()
            accuracy = self.validate()
            if accuracy >= self.best_accuracy and epoch < epochs - 1:
                self.best_accuracy = accuracy
                best_model_wts = self.model.state_dict()  # expect: AD310
        self.model.load_state_dict(best_model_wts)


Trainer(nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))).fit(3)
