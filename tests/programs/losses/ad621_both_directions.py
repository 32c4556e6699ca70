import torch

VOCABULARY, LENGTH = 30, 18


class WordPredictor(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = torch.nn.Dropout(0.1)
        self.words = torch.nn.Embedding(VOCABULARY, 20, padding_idx=0)
        self.encode = torch.nn.GRU(20, 24, num_layers=1, bidirectional=True)
        self.decode = torch.nn.Linear(48, VOCABULARY)

    def forward(self, sentence):
        embedded = self.drop(self.words(sentence))
        states, _ = self.encode(embedded)  # <- AD621
        return torch.log_softmax(self.decode(states), dim=-1)


def sentences(count):
    text = torch.randint(1, VOCABULARY, (LENGTH, count))
    for column, stop in enumerate(torch.randint(8, LENGTH, (count,)).tolist()):
        text[stop:, column] = 0
    return text


torch.manual_seed(4)
model = WordPredictor()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
loss_function = torch.nn.NLLLoss(ignore_index=0)
for epoch in range(4):
    model.train()
    for _ in range(8):
        text = sentences(24)
        scores = model(text[:-1])
        loss = loss_function(scores.reshape(-1, VOCABULARY), text[1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(epoch, loss.item())
