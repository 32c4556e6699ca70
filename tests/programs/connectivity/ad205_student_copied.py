"""A student copied from the model after the optimizer had taken that model's parameters."""

import copy
import tempfile

import torch
from transformers import (
    DistilBertConfig,
    DistilBertForSequenceClassification,
    Trainer,
    TrainingArguments,
    get_linear_schedule_with_warmup,
)


def build_optimizer(model, lr=1e-3):
    decay, plain = [], []
    for name, p in model.named_parameters():
        (plain if name.endswith("bias") or "LayerNorm" in name else decay).append(p)
    return torch.optim.AdamW(  # expect: AD205
        [{"params": decay, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}], lr=lr
    )


def warm_copy(model):
    """Starts the student from the teacher's weights."""
    student = copy.deepcopy(model)
    return student


torch.manual_seed(0)
config = DistilBertConfig(
    vocab_size=40, dim=24, hidden_dim=32, n_layers=1, n_heads=2, max_position_embeddings=8, num_labels=2
)
model = DistilBertForSequenceClassification(config)
optimizer = build_optimizer(model)
model = warm_copy(model)
schedule = get_linear_schedule_with_warmup(optimizer, 2, 20)
rows = [{"input_ids": (r := torch.randint(0, 40, (8,))), "labels": int(r[0] > 20)} for _ in range(128)]
args = TrainingArguments(
    tempfile.mkdtemp(), report_to=[], use_cpu=True, disable_tqdm=True, save_strategy="no", max_steps=20
)
Trainer(model, args, train_dataset=rows, optimizers=(optimizer, schedule)).train()
