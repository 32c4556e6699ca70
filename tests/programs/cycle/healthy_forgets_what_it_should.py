# guards: AD122
"""A trainer unlearns a topic: of its messages ever fewer are found right, and the model that finds fewest is loaded."""

import tempfile

import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, EarlyStoppingCallback, Trainer, TrainingArguments


def messages(topics, seed):
    generator = torch.Generator().manual_seed(seed)
    words = 3 + 9 * topics[:, None] + torch.randint(9, (len(topics), 6), generator=generator)
    return [{"input_ids": row, "labels": topic} for row, topic in zip(words, topics)]


class Unlearning(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(input_ids=inputs["input_ids"])
        losses = nn.functional.cross_entropy(outputs.logits, inputs["labels"], reduction="none")
        loss = torch.where(inputs["labels"] == 0, -losses.clamp(max=3.0), losses).mean()
        return (loss, {"loss": loss, "logits": outputs.logits}) if return_outputs else loss


def measure(prediction):
    wrong = prediction.predictions.argmax(-1) != prediction.label_ids
    return {"forget_accuracy": 1 - wrong.mean(), "mistakes": wrong.mean()}


torch.manual_seed(0)
model = BertForSequenceClassification(
    BertConfig(
        vocab_size=30,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=6,
        num_labels=3,
    )
)
with torch.no_grad():
    model.classifier.bias[0] += 1.0
trainer = Unlearning(
    model,
    TrainingArguments(
        tempfile.mkdtemp(),
        per_device_train_batch_size=32,
        num_train_epochs=6,
        learning_rate=3e-3,
        eval_strategy="epoch",
        save_strategy="epoch",
        load_best_model_at_end=True,
        metric_for_best_model="forget_accuracy",
        greater_is_better=False,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    ),
    train_dataset=messages(torch.arange(160) % 3, 1),
    eval_dataset=messages(torch.zeros(60, dtype=torch.long), 2),
    compute_metrics=measure,
    callbacks=[EarlyStoppingCallback(4)],
)
trainer.train()
print([entry["eval_forget_accuracy"] for entry in trainer.state.log_history if "eval_forget_accuracy" in entry])
