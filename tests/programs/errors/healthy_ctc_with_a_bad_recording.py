# guards: AD511
"""The same alphabet tapped in Morse: CTC over frames, where now and then a recording breaks off."""
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(7)
signs = torch.randn(9, 5)


def recording(broken):
    word = torch.randint(1, 9, (4,))
    frames = torch.repeat_interleave(signs[word], 4, dim=0) + 0.1 * torch.randn(16, 5)
    return frames[: 3 if broken else 16], word


net = nn.GRU(5, 24, batch_first=True)
head = nn.Linear(24, 9)
opt = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=5e-3)
for step in range(40):
    frames, words = zip(*(recording(step % 10 == 9 and n == 0) for n in range(16)))
    lengths = torch.tensor([len(f) for f in frames])
    hidden, _ = net(pad_sequence(frames, batch_first=True))
    logp = head(hidden).log_softmax(-1).transpose(0, 1)
    loss = nn.functional.ctc_loss(logp, torch.stack(words), lengths, torch.full((16,), 4), zero_infinity=True)
    opt.zero_grad()
    loss.backward()
    opt.step()
