"""Findings that show themselves at one line and are mended at another name that one, too: `# fix: AD703`."""

from __future__ import annotations

import re

import pytest

from tests.harness import check_program

TRAINING = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(16):
    rows = torch.randint(0, 256, (32,))
    loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
LAYERS = "model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))\n"
IMPORTS = "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader, Dataset, TensorDataset\n"
PIXELS = """
torch.manual_seed(0)
raw = torch.randint(0, 256, (256, 64))
y = (raw.float().mean(1) > 127).long()
"""

DIVIDED = f"{PIXELS}x = (raw // 256).float()  # fix: AD704\n{LAYERS}{TRAINING}"
DRAWN = f"""{PIXELS}
class Pixels(Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, number):
        x = raw[number].float()  # fix: AD703
        return x, y[number]

{LAYERS}
optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
for x, labels in DataLoader(Pixels(), batch_size=16, shuffle=True):
    loss = nn.functional.cross_entropy(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
BIASED = f"""{PIXELS}
x = torch.randn(256, 64)
{LAYERS}
def reset(module):
    if isinstance(module, nn.Linear):
        module.bias.data.fill_(-30.0)  # fix: AD408

model.apply(reset)
{TRAINING}"""
WIDENED = f"""{PIXELS}
x = torch.randn(256, 64)
model = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 2))
with torch.no_grad():
    model[0].weight.normal_(0, 40)  # fix: AD409
{TRAINING}"""
LEFT_OUT = f"""{PIXELS}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.context, self.head = nn.Linear(64, 16), nn.Linear(4, 16), nn.Linear(16, 2)

    def forward(self, x, context=None):
        h = self.body(x)
        if context is not None:
            h = h + self.context(context)
        return self.head(h.relu())

x, model = torch.randn(256, 64), Net()
{TRAINING.replace("model(x[rows]), y[rows])", "model(x[rows]), y[rows])  # fix: AD203")}"""
TEMPERATURE = f"""{PIXELS}
x = torch.randn(256, 64)
{LAYERS}
temperature = torch.tensor(1.0, requires_grad=True)
{TRAINING.replace("lr=0.01)", "lr=0.01)  # fix: AD220", 1).replace("model(x[rows])", "model(x[rows]) * temperature")}"""
CARRIED = """
torch.manual_seed(0)
cell, head = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 2)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
x, y = torch.randn(70, 12, 4), torch.randint(0, 2, (70,))
h = torch.zeros(1, 32, 8)
for a, b in DataLoader(TensorDataset(x, y), batch_size=32):
    out, _ = cell(a, h)  # fix: AD512
    loss = nn.functional.cross_entropy(head(out[:, -1]), b)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

PROGRAMS = {
    "data that a division emptied": DIVIDED,
    "pixels as a data set reads them": DRAWN,
    "biases that were filled": BIASED,
    "weights that were drawn too wide": WIDENED,
    "a call that leaves an argument out": LEFT_OUT,
    "an optimizer that lacks a leaf": TEMPERATURE,
    "a state of another batch": CARRIED,
}


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_the_line_to_change_is_named(source: str) -> None:
    program = IMPORTS + source
    ((line, code),) = [
        (number, found[1])
        for number, text in enumerate(program.splitlines(), start=1)
        if (found := re.search(r"# fix: (AD\d+)", text))
    ]
    (finding,) = [each for each in check_program(program).findings if each.code == code]
    places = [finding.location, *(other.location for other in finding.related)]
    assert line in [place.line for place in places if place is not None]
