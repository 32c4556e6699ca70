"""A character model reads a rhyme with truncated back-propagation. Sick: gradients are clipped after they were used."""

import torch
from torch import nn

RHYME = "one two buckle my shoe three four knock at the door five six pick up sticks seven eight lay them straight "
LETTERS = sorted(set(RHYME))
WINDOW = 16


class CharModel(nn.Module):
    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), width)
        self.memory = nn.LSTM(width, width, batch_first=True)
        self.next_letter = nn.Linear(width, len(LETTERS))

    def forward(self, text, state=None):
        hidden, state = self.memory(self.letters(text), state)
        return self.next_letter(hidden), state


def streams(text: str, count: int = 8) -> torch.Tensor:
    """The text as `count` long lines that are read side by side."""
    letters = torch.tensor([LETTERS.index(letter) for letter in text * 12])
    length = len(letters) // count
    return letters[: count * length].view(count, length)


def sing(model: CharModel, start: str, length: int = 40) -> str:
    text, state = start, None
    letter = torch.tensor([[LETTERS.index(start)]])
    with torch.no_grad():
        for _ in range(length):
            scores, state = model(letter, state)
            letter = torch.multinomial(scores[:, -1].softmax(-1), 1)
            text += LETTERS[letter.item()]
    return text


def main(epochs: int = 6) -> None:
    torch.manual_seed(0)
    lines = streams(RHYME)
    model = CharModel()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.005)
    for epoch in range(epochs):
        state = None
        for start in range(0, lines.shape[1] - WINDOW - 1, WINDOW):
            inputs, targets = lines[:, start : start + WINDOW], lines[:, start + 1 : start + WINDOW + 1]
            if state is not None:
                state = tuple(part.detach() for part in state)
            scores, state = model(inputs, state)
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)  # expect: AD105
        print(f"epoch {epoch}: loss {loss.item():.3f}: {sing(model, 'o')}")


if __name__ == "__main__":
    main()
