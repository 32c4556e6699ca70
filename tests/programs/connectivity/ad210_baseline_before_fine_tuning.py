"""A tagger is fine-tuned with an optimizer of its own, after its scores were taken once more: dropout stays off."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
words = torch.randint(0, 30, (160, 5))
general, special = words.remainder(3), words.div(10, rounding_mode="floor")
tagger = nn.Sequential(nn.Embedding(30, 16), nn.Dropout(0.2), nn.Linear(16, 3))


def fit(optimizer, tags):
    for batch in torch.randperm(128).split(16):
        loss = F.cross_entropy(tagger(words[batch]).flatten(0, 1), tags[batch].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


print("general", fit(torch.optim.Adam(tagger.parameters(), lr=0.01), general))
fine_tuning = torch.optim.Adam(tagger.parameters(), lr=0.003)
tagger.eval()  # expect: AD210
with torch.no_grad():
    print("to begin with", (tagger(words[128:]).argmax(2) == special[128:]).float().mean().item())
print("special", fit(fine_tuning, special))
