# guards: AD203 AD219
# hinted: AD203 AD219
"""Tags of words by a BERT whose pooler nobody asked for, with labels in the batch and a loss of the program's own."""

import torch
from torch import nn
from transformers import BertConfig, BertForTokenClassification, BertModel

torch.manual_seed(0)
config = BertConfig(
    vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, num_labels=3
)
tagger, encoder, topic = BertForTokenClassification(config), BertModel(config), nn.Linear(16, 2)
optimizer = torch.optim.AdamW([*tagger.parameters(), *encoder.parameters(), *topic.parameters()], lr=2e-3)
for step in range(12):
    words = torch.randint(1, 40, (8, 10))
    batch = {"input_ids": words, "attention_mask": torch.ones_like(words), "labels": words % 3}
    scores = tagger(**batch).logits
    weights = 0.5 + (batch["labels"] == 2).float()
    losses = nn.functional.cross_entropy(scores.transpose(1, 2), batch["labels"], reduction="none")
    means = encoder(words).last_hidden_state.mean(1)
    loss = (weights * losses).mean() + nn.functional.cross_entropy(topic(means), (words[:, 0] > 20).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
