"""Messages are sorted by topic; the trainer loads, at the end, the model that sorts the fewest of them right."""

import tempfile
from dataclasses import dataclass

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Messages(Dataset):
    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.topics = torch.randint(3, (count,), generator=generator)
        words = torch.randint(3, 30, (count, 8), generator=generator)
        own = torch.rand(count, 8, generator=generator) < 0.5
        self.words = torch.where(own, 3 + 9 * self.topics[:, None] + words % 9, words)

    def __len__(self):
        return len(self.topics)

    def __getitem__(self, index):
        return {"input_ids": self.words[index], "labels": self.topics[index]}


@dataclass
class Arguments(TrainingArguments):
    width: int = 32


def accuracy(prediction):
    return {"accuracy": (prediction.predictions.argmax(-1) == prediction.label_ids).mean()}


torch.manual_seed(0)
arguments = Arguments(  # expect: AD122
    tempfile.mkdtemp(),
    per_device_train_batch_size=32,
    per_device_eval_batch_size=32,
    num_train_epochs=6,
    learning_rate=5e-3,
    eval_strategy="epoch",
    save_strategy="epoch",
    load_best_model_at_end=True,
    metric_for_best_model="accuracy",
    greater_is_better=False,
    report_to=[],
    disable_tqdm=True,
    use_cpu=True,
)
config = BertConfig(
    vocab_size=30,
    hidden_size=arguments.width,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=8,
    num_labels=3,
)
trainer = Trainer(
    BertForSequenceClassification(config),
    arguments,
    train_dataset=Messages(160, 1),
    eval_dataset=Messages(75, 2),
    compute_metrics=accuracy,
)
trainer.train()
print(trainer.state.best_metric)
