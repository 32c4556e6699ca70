# guards: AD638
"""Relations of a graph of facts with negatives, and a predictor of latent states beside what decodes them."""

import torch
from torch import nn

torch.manual_seed(6)
entities, relations = nn.Embedding(60, 16), nn.Embedding(4, 16)
optimizer = torch.optim.Adam([*entities.parameters(), *relations.parameters()], lr=2e-2)
for _ in range(60):
    head, relation = torch.randint(60, (128,)), torch.randint(4, (128,))
    moved = entities(head) + relations(relation)
    near = (moved - entities((head + 7 * relation) % 60)).norm(dim=1)
    far = (moved - entities(torch.randint(60, (128,)))).norm(dim=1)
    loss = (1 + near - far).relu().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

turn = torch.linalg.qr(torch.randn(6, 6))[0]
encoder, decoder, forward = nn.Linear(6, 4), nn.Linear(4, 6), nn.Linear(4, 4)
parts = nn.ModuleList([encoder, decoder, forward])
optimizer = torch.optim.Adam(parts.parameters(), lr=1e-2)
for _ in range(60):
    state = torch.randn(64, 6)
    optimizer.zero_grad()
    if _ % 2:
        nn.functional.mse_loss(decoder(encoder(state)), state).backward()
    else:
        nn.functional.mse_loss(forward(encoder(state)), encoder(state @ turn)).backward()
    optimizer.step()
