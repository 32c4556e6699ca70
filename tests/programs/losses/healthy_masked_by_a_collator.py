# guards: AD621
"""BERT with DataCollatorForLanguageModeling (80/10/10), CLS and SEP and padding that are never targets."""
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, DataCollatorForLanguageModeling, PreTrainedTokenizerFast
from torch.utils.data import DataLoader

special = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"]
vocab = {w: i for i, w in enumerate([*special, *[f"w{i}" for i in range(25)]])}
tk = Tokenizer(models.WordLevel(vocab, unk_token="[UNK]"))
tk.pre_tokenizer = pre_tokenizers.Whitespace()
tk.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tk, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
                                    mask_token="[MASK]", unk_token="[UNK]")
torch.manual_seed(0)
texts = []
for _ in range(900):
    a, n = torch.randint(0, 25, ()).item(), torch.randint(5, 12, ()).item()
    texts.append(" ".join(f"w{(a + i) % 25}" for i in range(n)))
data = [{"input_ids": tokenizer(t)["input_ids"]} for t in texts]
loader = DataLoader(data, 32, shuffle=True, collate_fn=DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.2))
model = BertForMaskedLM(BertConfig(vocab_size=30, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                                   intermediate_size=96, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                                   max_position_embeddings=20))
opt = torch.optim.AdamW(model.parameters(), 2e-3)
for epoch in range(8):
    for b in loader:
        loss = model(**b).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 3))
