# guards: AD621
import torch
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForMaskedLM

torch.manual_seed(7)
MASK, WORDS = 4, 40


def sentences(n):
    start = torch.randint(5, WORDS, (n, 1))
    return (start + torch.randint(1, 4, (n, 1)) * torch.arange(14) - 5) % (WORDS - 5) + 5


def mask_tokens(inputs, p=0.15):
    labels = inputs.clone()
    picked = torch.bernoulli(torch.full(labels.shape, p)).bool()
    labels[~picked] = -100
    replaced = torch.bernoulli(torch.full(labels.shape, 0.8)).bool() & picked
    inputs = inputs.masked_fill(replaced, MASK)
    random = torch.bernoulli(torch.full(labels.shape, 0.5)).bool() & picked & ~replaced
    return torch.where(random, torch.randint(5, WORDS, inputs.shape), inputs), labels


config = BertConfig(
    vocab_size=WORDS, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
    max_position_embeddings=16,
)
model = BertForMaskedLM(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
model.train()
for epoch in range(2):
    for batch in DataLoader(sentences(256), batch_size=32, shuffle=True, drop_last=True):
        input_ids, labels = mask_tokens(batch)
        out = model(input_ids=input_ids, labels=labels)
        optimizer.zero_grad()
        out.loss.backward()
        optimizer.step()
    print(epoch, out.loss.item())
