import tempfile

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

END = 49  # the vocabulary has no token for padding, so this one fills up as well


class Recipes(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.texts = []
        for _ in range(n):
            length = int(torch.randint(4, 14, (1,), generator=g))
            start = int(torch.randint(0, 40, (1,), generator=g))
            self.texts.append([(start + 3 * i) % 48 for i in range(length)] + [END])

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        return {"input_ids": self.texts[i]}


def collate(rows):
    longest = max(len(row["input_ids"]) for row in rows)
    ids = torch.full((len(rows), longest), END)
    mask = torch.zeros(len(rows), longest, dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row["input_ids"])] = torch.tensor(row["input_ids"])
        mask[i, : len(row["input_ids"])] = 1
    labels = ids.clone()
    labels[labels == END] = -100  # <- AD719
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


torch.manual_seed(1)
config = GPT2Config(vocab_size=50, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=END, eos_token_id=END)
trainer = Trainer(
    model=GPT2LMHeadModel(config),
    args=TrainingArguments(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=8,
        num_train_epochs=2,
        learning_rate=2e-3,
        report_to=[],
        save_strategy="no",
        logging_steps=10,
        use_cpu=True,
    ),
    train_dataset=Recipes(160, seed=0),
    data_collator=collate,
)
trainer.train()
