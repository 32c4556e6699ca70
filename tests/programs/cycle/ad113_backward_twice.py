"""An autoencoder whose loss goes backward once more with the sum of the losses."""

import torch
from torch import nn

torch.manual_seed(2)

encoder = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 4))
decoder = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 16))
classifier = nn.Linear(4, 2)
params = [*encoder.parameters(), *decoder.parameters(), *classifier.parameters()]
optimizer = torch.optim.Adam(params, lr=3e-3)
basis = torch.randn(4, 16)

for step in range(50):
    code = torch.randn(40, 4)
    x = torch.tanh(code @ basis)
    y = (code[:, 0] > 0).long()
    z = encoder(x)
    rec_loss = nn.functional.mse_loss(decoder(z), x)
    cls_loss = nn.functional.cross_entropy(classifier(z), y)
    optimizer.zero_grad()
    rec_loss.backward(retain_graph=True)
    total = rec_loss + cls_loss
    total.backward()  # expect: AD113
    optimizer.step()
    if step % 10 == 0:
        print(step, rec_loss.item(), cls_loss.item())
