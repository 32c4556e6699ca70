"""Languages of names, letter by letter."""

import torch
import torch.nn as nn

torch.manual_seed(2)


class RNN(nn.Module):
    def __init__(self, n_in, n_hidden, n_out):
        super().__init__()
        self.n_hidden = n_hidden
        self.i2h = nn.Linear(n_in + n_hidden, n_hidden)
        self.i2o = nn.Linear(n_hidden, n_out)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, letter, hidden):
        hidden = torch.tanh(self.i2h(torch.cat((letter, hidden), 1)))
        return self.softmax(self.i2o(hidden)), hidden  # expect: AD603


rnn = RNN(8, 16, 4)
criterion = nn.NLLLoss()
optimizer = torch.optim.SGD(rnn.parameters(), lr=0.05)
for it in range(40):
    name = torch.eye(8)[torch.randint(8, (5,))].unsqueeze(1)
    category = name[-1].argmax(1) % 4
    hidden = torch.zeros(1, rnn.n_hidden)
    optimizer.zero_grad()
    for letter in name:
        output, hidden = rnn(letter, hidden)
    loss = criterion(output, category)
    loss.backward()
    optimizer.step()
