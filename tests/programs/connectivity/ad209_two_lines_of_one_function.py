"""A validation that calls an encoder and a decoder on two lines: one missing `no_grad`, one finding."""
import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(8, 4), nn.Linear(4, 8)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
train, held_out = torch.randn(96, 8), torch.randn(32, 8)


def validate():
    encoder.eval()
    decoder.eval()
    errors = []
    for part in held_out.split(8):
        code = encoder(part)  # expect: AD209
        errors.append((decoder(code) - part).square().mean().item())
    encoder.train()
    decoder.train()
    return sum(errors) / len(errors)


for epoch in range(6):
    for batch in train[torch.randperm(96)].split(16):
        optimizer.zero_grad()
        (decoder(encoder(batch)) - batch).square().mean().backward()
        optimizer.step()
    print(epoch, validate())
