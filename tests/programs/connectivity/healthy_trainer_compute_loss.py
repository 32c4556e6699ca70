# guards: AD202
"""A Trainer of transformers with a focal loss of its own."""
import tempfile

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Rows(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, 8, generator=g)
        self.y = (self.x[:, :2].prod(1) > 0.3).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"features": self.x[i], "labels": self.y[i]}


class Tabular(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.classifier = nn.Linear(32, 2)

    def forward(self, features, labels=None):
        hidden = self.encoder(features)
        return {"logits": self.classifier(hidden)}


class FocalTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"]
        outputs = model(**inputs)
        ce = F.cross_entropy(outputs["logits"], labels, reduction="none")
        loss = ((1 - torch.exp(-ce)) ** 2 * ce).mean()
        return (loss, outputs) if return_outputs else loss


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            folder,
            num_train_epochs=2,
            per_device_train_batch_size=32,
            learning_rate=1e-2,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
        )
        FocalTrainer(Tabular(), args, train_dataset=Rows(320, seed=0)).train()
