# Which posts of a discussion get deleted, from the post and the one that it replies to.
import torch
from torch import nn

torch.manual_seed(5)
threads = []
for _ in range(150):
    n = int(torch.randint(4, 15, ()))
    posts = torch.randn(n, 6)
    parent = torch.tensor([0] + [int(torch.randint(0, i, ())) for i in range(1, n)])
    deleted = ((posts * posts[parent]).sum(1) > 1.0).float()
    threads.append({"posts": posts, "parent": parent, "deleted": deleted})

enc = nn.Linear(6, 24)
clf = nn.Sequential(nn.Linear(48, 32), nn.ReLU(), nn.Linear(32, 1))
params = list(enc.parameters()) + list(clf.parameters())
opt = torch.optim.Adam(params, lr=5e-3)

for epoch in range(4):
    for some in torch.randperm(len(threads)).split(15):
        batch = [threads[i] for i in some.tolist()]
        joined = {key: torch.cat([t[key] for t in batch]) for key in ("posts", "parent", "deleted")}  # <- AD729
        h = enc(joined["posts"]).tanh()
        above = h[joined["parent"]]
        score = clf(torch.cat([h, above], dim=-1)).squeeze(-1)
        loss = nn.functional.binary_cross_entropy_with_logits(score, joined["deleted"])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: {loss.item():.3f}")
