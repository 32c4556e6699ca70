# guards: AD102
"""A dictionary drives the training; gradients are cleared right after the step."""

import torch
import torch.nn as nn

CONFIG = {
    "model": {"input_dim": 10, "hidden_dims": [48, 24], "num_classes": 4, "dropout": 0.1},
    "optimizer": {"name": "AdamW", "kwargs": {"lr": 3e-3, "weight_decay": 0.01}},
    "training": {"epochs": 3, "batch_size": 25, "seed": 7},
}


def build_model(cfg):
    layers, dim = [], cfg["input_dim"]
    for hidden in cfg["hidden_dims"]:
        layers += [nn.Linear(dim, hidden), nn.ReLU(), nn.Dropout(cfg["dropout"])]
        dim = hidden
    layers.append(nn.Linear(dim, cfg["num_classes"]))
    return nn.Sequential(*layers)


def build_optimizer(cfg, model):
    return getattr(torch.optim, cfg["name"])(model.parameters(), **cfg["kwargs"])


def make_split(num, centers):
    y = torch.randint(0, centers.size(0), (num,))
    return centers[y] + 0.8 * torch.randn(num, centers.size(1)), y


def run(cfg):
    torch.manual_seed(cfg["training"]["seed"])
    centers = torch.randn(cfg["model"]["num_classes"], cfg["model"]["input_dim"])
    X, y = make_split(400, centers)
    X_val, y_val = make_split(100, centers)
    model = build_model(cfg["model"])
    optimizer = build_optimizer(cfg["optimizer"], model)
    criterion = nn.CrossEntropyLoss()
    bs = cfg["training"]["batch_size"]
    history = []
    for epoch in range(cfg["training"]["epochs"]):
        model.train()
        perm = torch.randperm(len(X))
        running = 0.0
        for i in range(0, len(X), bs):
            idx = perm[i : i + bs]
            loss = criterion(model(X[idx]), y[idx])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            running += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            val_acc = (model(X_val).argmax(1) == y_val).float().mean().item()
        history.append({"epoch": epoch, "train_loss": running / len(X), "val_acc": val_acc})
        print(history[-1])
    return history


if __name__ == "__main__":
    run(CONFIG)
