#!/usr/bin/env python
# guards: AD708
# node embeddings from random walks (DeepWalk with a full softmax, the graph is small)
import random
import torch

random.seed(2)
torch.manual_seed(2)
V, COMM = 180, 6
adj = {v: set() for v in range(V)}
for a in range(V):
    for b in range(a):
        if random.random() < (0.25 if a % COMM == b % COMM else 0.012):
            adj[a].add(b); adj[b].add(a)
for v in range(V):
    if not adj[v]:
        u = (v + COMM) % V
        adj[v].add(u); adj[u].add(v)
nbr = {v: sorted(s) for v, s in adj.items()}
held = [(a, random.choice(nbr[a])) for a in range(V)]                       # scored, not removed
anti = [(a, random.choice([b for b in range(V) if b not in adj[a] and b != a])) for a in range(V)]

src, dst = torch.nn.Embedding(V, 16), torch.nn.Linear(16, V, bias=True)
torch.nn.init.normal_(src.weight, std=0.3)
params = list(src.parameters()) + list(dst.parameters())
opt = torch.optim.Adam(params, lr=0.01)


def walk(v, n):
    for _ in range(n):
        v = random.choice(nbr[v])
    return v


@torch.no_grad()
def auc():
    s = lambda prs: torch.stack([dst(src.weight[a])[b] for a, b in prs])
    return (s(held)[:, None] > s(anti)[None]).float().mean().item()


@torch.no_grad()
def purity():
    e = torch.nn.functional.normalize(src.weight, dim=1)
    nn = (e @ e.T - 2 * torch.eye(V)).topk(5, 1).indices
    return ((nn % COMM) == (torch.arange(V) % COMM)[:, None]).float().mean().item()


print(f"start   auc {auc():.3f}  purity {purity():.3f}")
nodes, window = list(range(V)), 0
for epoch in range(160):
    # window curriculum: 0 = one fixed partner (strongest tie = lowest id), then 1 hop, then up to 2 hops
    window = 0 if epoch < 15 else (1 if epoch < 70 else 2)
    random.shuffle(nodes)
    total = 0.0
    for i in range(0, V, 30):
        centre = nodes[i:i + 30]
        if window == 0:
            context = [nbr[v][0] for v in centre]
        else:
            context = [walk(v, random.randint(1, window)) for v in centre]
        loss = torch.nn.functional.cross_entropy(dst(src(torch.tensor(centre))), torch.tensor(context))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 6
    if epoch in (14, 15, 40, 69, 100, 159):
        print(f"epoch {epoch:3d} window {window} loss {total:.3f}  auc {auc():.3f}  purity {purity():.3f}")
