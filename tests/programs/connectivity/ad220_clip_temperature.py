"""CLIP-style training with a learnable temperature that nobody gave to the optimizer (AD220)."""
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

image_encoder = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 12))
text_encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 12))
log_temp = torch.tensor(math.log(1 / 0.07), requires_grad=True)  # expect: AD220

params = list(image_encoder.parameters()) + list(text_encoder.parameters())
optimizer = torch.optim.AdamW(params, lr=3e-3, weight_decay=0.01)
to_img, to_txt = torch.randn(6, 20), torch.randn(6, 10)


def clip_loss(img, txt):
    img = F.normalize(image_encoder(img), dim=-1)
    txt = F.normalize(text_encoder(txt), dim=-1)
    logits = log_temp.exp() * img @ txt.t()
    labels = torch.arange(len(logits))
    return 0.5 * (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels))


for step in range(40):
    concept = torch.randn(48, 6)
    loss = clip_loss(concept @ to_img, concept @ to_txt)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.3f}")
