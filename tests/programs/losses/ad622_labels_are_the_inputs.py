import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel

PAD = 60


def documents(count):
    for _ in range(count):
        length = int(torch.randint(6, 20, (1,)))
        start = int(torch.randint(0, 40, (1,)))
        yield [(start + i) % 60 for i in range(length)]


def collate(rows):
    longest = max(map(len, rows))
    ids = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
    return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": ids.clone()}


def main():
    torch.manual_seed(11)
    config = GPT2Config(
        vocab_size=61, n_positions=32, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0
    )
    model = GPT2LMHeadModel(config)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(list(documents(256)), batch_size=16, shuffle=True, collate_fn=collate)
    for _ in range(3):
        for batch in loader:
            loss = model(**batch).loss  # <- AD622
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        print(float(loss))


if __name__ == "__main__":
    main()
