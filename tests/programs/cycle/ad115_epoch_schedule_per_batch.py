"""A step schedule meant for epochs that is advanced with every batch."""

import torch
from torch import nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset


def train_model(model, dataloaders, criterion, optimizer, scheduler, num_epochs=4):
    for epoch in range(num_epochs):
        for phase in ["train", "val"]:
            model.train(phase == "train")
            running_loss, running_corrects, seen = 0.0, 0, 0
            for inputs, labels in dataloaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    _, preds = torch.max(outputs, 1)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                        scheduler.step()  # expect: AD115
                running_loss += loss.item() * inputs.size(0)
                running_corrects += torch.sum(preds == labels.data).item()
                seen += inputs.size(0)
            print(f"{phase} Loss: {running_loss / seen:.4f} Acc: {running_corrects / seen:.4f}")
    return model


def blobs(n, means):
    labels = torch.randint(0, len(means), (n,))
    return TensorDataset(means[labels] + torch.randn(n, means.size(1)), labels)


if __name__ == "__main__":
    torch.manual_seed(4)
    means = torch.randn(4, 10)
    dataloaders = {
        "train": DataLoader(blobs(400, means), batch_size=20, shuffle=True),
        "val": DataLoader(blobs(100, means), batch_size=50),
    }
    net = nn.Sequential(nn.Linear(10, 40), nn.BatchNorm1d(40), nn.ReLU(), nn.Dropout(0.2), nn.Linear(40, 4))
    optimizer_ft = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    exp_lr_scheduler = lr_scheduler.StepLR(optimizer_ft, step_size=2, gamma=0.1)
    train_model(net, dataloaders, nn.CrossEntropyLoss(), optimizer_ft, exp_lr_scheduler)
