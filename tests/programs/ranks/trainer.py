"""The Trainer of transformers, whose ranks a launcher starts."""

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Points(Dataset):
    def __init__(self) -> None:
        self.x = torch.randn(4096, 4)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        return {"x": self.x[number], "labels": self.x[number].sum()}


class Line(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        out = self.layer(x)[:, 0]
        return {"loss": (out - labels).pow(2).mean(), "logits": out}


torch.manual_seed(0)
quiet = {"report_to": [], "save_strategy": "no", "disable_tqdm": True, "logging_strategy": "no"}
arguments = TrainingArguments(output_dir="out", use_cpu=True, max_steps=60, learning_rate=0.01, **quiet)
Trainer(model=Line(), args=arguments, train_dataset=Points()).train()
