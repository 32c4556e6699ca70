# guards: AD101 AD220
"""A bigram-to-MLP character model as in lectures: tensors without modules, a lambda for the rate, `p.grad = None`."""

import torch
import torch.nn.functional as F

words = "emma olivia ava isabella sophia mia charlotte amelia harper evelyn abigail emily ella".split()
chars = sorted(set("".join(words)))
stoi = {s: i + 1 for i, s in enumerate(chars)}
stoi["."] = 0
itos = {i: s for s, i in stoi.items()}
vocab, block_size = len(itos), 3

X, Y = [], []
for w in words:
    context = [0] * block_size
    for ch in w + ".":
        X.append(context)
        Y.append(stoi[ch])
        context = context[1:] + [stoi[ch]]
X, Y = torch.tensor(X), torch.tensor(Y)

g = torch.Generator().manual_seed(2147483647)
C = torch.randn((vocab, 4), generator=g)
W1 = torch.randn((block_size * 4, 40), generator=g) * (5 / 3) / (block_size * 4) ** 0.5
b1 = torch.randn(40, generator=g) * 0.01
W2 = torch.randn((40, vocab), generator=g) * 0.1
b2 = torch.zeros(vocab)
parameters = [C, W1, b1, W2, b2]
for p in parameters:
    p.requires_grad = True

lossi = []
for i in range(60):
    ix = torch.randint(0, X.shape[0], (32,), generator=g)
    emb = C[X[ix]]
    h = torch.tanh(emb.view(emb.shape[0], -1) @ W1 + b1)
    logits = h @ W2 + b2
    loss = F.cross_entropy(logits, Y[ix])
    for p in parameters:
        p.grad = None
    loss.backward()
    lr = 0.2 if i < 40 else 0.05
    for p in parameters:
        p.data += -lr * p.grad
    lossi.append(loss.log10().item())
print(lossi[0], lossi[-1])

for _ in range(2):
    out, context = [], [0] * block_size
    while len(out) < 10:
        with torch.no_grad():
            h = torch.tanh(C[torch.tensor([context])].view(1, -1) @ W1 + b1)
            probs = F.softmax(h @ W2 + b2, dim=1)
        ix = torch.multinomial(probs, num_samples=1, generator=g).item()
        context = context[1:] + [ix]
        if ix == 0:
            break
        out.append(itos[ix])
    print("".join(out))
