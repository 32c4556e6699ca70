"""An encoder and a decoder with optimizers of their own; now and then, answers are looked at with dropout still on."""
import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.GRU(8, 16, batch_first=True)
decoder = nn.Sequential(nn.Dropout(0.3), nn.Linear(16, 5))
words = nn.functional.one_hot(torch.arange(5), 8).float()
encoder_optimizer = torch.optim.SGD(encoder.parameters(), 0.1)
decoder_optimizer = torch.optim.SGD(decoder.parameters(), 0.1)
for step in range(24):
    sentence = torch.randint(5, (12, 6))
    loss = nn.functional.cross_entropy(decoder(encoder(words[sentence])[1][0]), sentence[:, 0])
    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()
    loss.backward()
    encoder_optimizer.step()
    decoder_optimizer.step()
    if step % 6 == 5:
        with torch.no_grad():
            answer = decoder(encoder(words[sentence])[1][0]).argmax(1)  # expect: AD211
        print((answer == sentence[:, 0]).float().mean().item())
