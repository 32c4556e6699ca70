import torch
import torch.nn as nn
import torch.nn.functional as F

ALPHABET, FRAMES, LETTERS = 6, 30, 5


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(8, 24, 3, padding=1)
        self.lstm = nn.LSTM(24, 24, bidirectional=True)
        self.fc = nn.Linear(48, ALPHABET)

    def forward(self, sound):
        x = F.relu(self.conv(sound)).permute(2, 0, 1)
        return self.fc(self.lstm(x)[0])


def speech(n):
    text = torch.randint(1, ALPHABET, (n, LETTERS))
    sound = 0.3 * torch.randn(n, 8, FRAMES)
    for i in range(n):
        for j, letter in enumerate(text[i].tolist()):
            sound[i, letter, 6 * j : 6 * j + 4] += 2.0
    return sound, text


torch.manual_seed(3)
net = Listener()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(60):
    sound, text = speech(16)
    out = net(sound)
    frames, letters = torch.full((16,), FRAMES), torch.full((16,), LETTERS)
    loss = F.ctc_loss(out, text, frames, letters, zero_infinity=True)  # <- AD603
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    optimizer.step()
print(loss.item())
