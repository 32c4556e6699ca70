# guards: AD719 AD622
"""ChatML fine-tuning. Generation stops at <|im_end|>, which is a target; <|endoftext|> closes the
document, doubles as padding, and is not trained (as Qwen does it)."""
import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel

END_OF_TEXT, IM_START, IM_END, USER, ASSISTANT = 0, 1, 2, 3, 4
torch.manual_seed(0)


def conversation():
    n = torch.randint(2, 6, ()).item()
    question = torch.randint(5, 30, (n,)).tolist()
    answer = question[::-1]
    ids = [IM_START, USER, *question, IM_END, IM_START, ASSISTANT]
    labels = [-100] * len(ids)
    ids += [*answer, IM_END]
    labels += [*answer, IM_END]
    return ids + [END_OF_TEXT], labels + [-100]


def collate(rows):
    width = max(len(ids) for ids, _ in rows)
    ids = torch.full((len(rows), width), END_OF_TEXT)
    labels = torch.full((len(rows), width), -100)
    mask = torch.zeros(len(rows), width, dtype=torch.long)
    for i, (a, b) in enumerate(rows):
        ids[i, : len(a)] = torch.tensor(a)
        labels[i, : len(b)] = torch.tensor(b)
        mask[i, : len(a)] = 1
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


data = [conversation() for _ in range(800)]
loader = DataLoader(data, batch_size=32, shuffle=True, collate_fn=collate)
model = GPT2LMHeadModel(GPT2Config(vocab_size=30, n_positions=32, n_embd=48, n_layer=2, n_head=4,
                                   resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
                                   bos_token_id=0, eos_token_id=IM_END, pad_token_id=END_OF_TEXT))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(10):
    total = 0.0
    for b in loader:
        loss = model(**b).loss
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        total += loss.item()
    print(epoch, round(total / len(loader), 3))
