"""Every fixer on the bad examples of its rules: a change is made, the example runs again, and nothing is left.

Of each rule the first example is tried, and one of `EVERY` of the others; of the sick programs one of `EVERY_PROGRAM`.
`FIXERS_EVERY=1` tries them all.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest

from autograd_doctor.fixers import all_fixers
from autograd_doctor.rules import Example, Rule, all_rules
from tests.changes import changed, tried_in
from tests.harness import body_of, check_program, marks, programs

NOT_FIXED = {
    "AD204 bad_backbone_that_is_not_frozen": "whether the backbone is to learn, or to be frozen, nothing tells",
    "AD511 bad": "how the classes are to be numbered is the person's choice",
    "AD511 bad_blank": "which class is to be the blank is the person's choice",
    "AD501 bad_step_before_the_second_backward": "both losses share a forward: of which weights is the person's choice",
}
"""Bad examples without a change that could be proven, and why."""


ASKED = os.environ.get("FIXERS_EVERY")
EVERY, EVERY_PROGRAM = (int(ASKED or 4), int(ASKED or 40))


def _is_tried(name: str, every: int) -> bool:
    return crc32(name.encode()) % every == 0


def _examples() -> Iterator[tuple[Rule, Example]]:
    codes = {code for fixer in all_fixers() for code in fixer.codes}
    for rule in (rule for rule in all_rules() if rule.code in codes):
        for number, example in enumerate(rule.bad):
            if not number or _is_tried(f"{rule.code} {example.__name__}", EVERY):
                yield rule, example


def _name(value: Rule | Example) -> str:
    return value.code if isinstance(value, Rule) else value.__name__


@pytest.mark.parametrize(("rule", "example"), list(_examples()), ids=_name)
def test_a_proven_change_removes_the_fault_of_a_bad_example(rule: Rule, example: Example) -> None:
    series = changed(body_of(example))
    told = [(each.finding.code, each.fix.description, each.fix.proof) for each in series.trials]
    is_fixed = rule.code not in {finding.code for finding in series.now.report.findings}
    assert is_fixed == (f"{rule.code} {example.__name__}" not in NOT_FIXED), told
    assert not [finding.code for finding in series.now.report.findings if is_fixed], told


SICK = [path for path in programs() if marks(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    "path", [path for path in SICK if _is_tried(path.name, EVERY_PROGRAM)], ids=lambda path: path.stem
)
def test_a_program_with_the_proven_changes_written_is_as_it_was_seen(path: Path, tmp_path: Path) -> None:
    script = Path(shutil.copy(path, tmp_path))
    _, series = tried_in(script)
    assert not series.failed
    for file, data in series.now.sources.changed.items():
        Path(file).write_bytes(data)
    report = check_program(script)
    assert [each.code for each in report.findings] == [each.code for each in series.now.report.findings]


def test_each_fixer_names_rules_that_there_are() -> None:
    known = {rule.code for rule in all_rules()}
    for fixer in all_fixers():
        assert set(fixer.codes) <= known


STEP = "loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True))"
HEAD = """import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
"""
LAYOUTS = {
    "calls that share a line": (
        f"""{HEAD}
for _ in range(8):
    inputs = torch.randn(16, 4)
    {STEP}
    loss.backward(); optimizer.zero_grad(); optimizer.step()
""",
        """
    optimizer.zero_grad()
    loss.backward(); optimizer.step()
""",
    ),
    "comments and empty lines": (
        f"""{HEAD}
for _ in range(8):
    inputs = torch.randn(16, 4)
    {STEP}

    # the chain rule
    loss.backward()
    # nothing is left
    optimizer.zero_grad()

    optimizer.step()
""",
        """, keepdim=True))

    # nothing is left
    optimizer.zero_grad()
    # the chain rule
    loss.backward()

    optimizer.step()
""",
    ),
    "a condition in one line": (
        f"""{HEAD}
def update(loss, again):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if again: optimizer.step()
    return loss.item()

for _ in range(8):
    inputs = torch.randn(16, 4)
    {STEP}
    update(loss, True)
""",
        """
    optimizer.step()
    return loss.item()
""",
    ),
    "a clearing under a condition": (
        f"""{HEAD}
for batch in range(24):
    inputs = torch.randn(16, 4)
    {STEP} / 3
    loss.backward()
    if batch % 3 == 2:
        # begin anew
        optimizer.zero_grad()
""",
        """
    if batch % 3 == 2:
        optimizer.step()
        # begin anew
        optimizer.zero_grad()
""",
    ),
    "a method of another object": (
        """import torch

class Run:
    def __init__(self):
        self.model = torch.nn.Linear(4, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=1, gamma=0.8)

    def epoch(self):
        for _ in range(3):
            inputs = torch.randn(16, 4)
            self.optimizer.zero_grad()
            (self.model(inputs) - inputs.sum(1, keepdim=True)).square().mean().backward()
            self.optimizer.step()

    def train(self):
        for epoch in range(4):
            self.schedule.step()
            self.epoch()
            # a word on it
            print(epoch)

torch.manual_seed(0)
Run().train()
""",
        """
        for epoch in range(4):
            self.epoch()
            # a word on it
            print(epoch)
            self.schedule.step()
""",
    ),
    "arguments by default and by name": (
        f"""import torch

def fit(model, inputs, rate=0.01):
    optimizer = torch.optim.Adam(
        model.parameters(),
        lr=rate,
    )
    {STEP}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

torch.manual_seed(0)
for width in (4, 4):
    model = torch.nn.Linear(width, 1)
    for _ in range(8):
        fit(inputs=torch.randn(16, width), model=model)
""",
        """
    model = torch.nn.Linear(width, 1)
    optimizer = torch.optim.Adam(
        model.parameters(),
        lr=0.01,
    )
    for _ in range(8):
        fit(inputs=torch.randn(16, width), model=model, optimizer=optimizer)
""",
    ),
}


@pytest.mark.parametrize(("program", "expected"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_the_layout_of_the_program_is_kept(program: str, expected: str) -> None:
    series = changed(program)
    (text,) = series.now.sources.changed.values()
    assert expected in text.decode()


def test_the_ends_of_lines_are_kept() -> None:
    program = LAYOUTS["comments and empty lines"][0].replace("\n", "\r\n")
    with tempfile.TemporaryDirectory() as name:
        script = Path(name, "train.py")
        script.write_bytes(program.encode())
        series = tried_in(script)[1]
    (text,) = series.now.sources.changed.values()
    assert text != program.encode()
    assert text.count(b"\n") == text.count(b"\r\n") == program.count("\n")


UNCHANGED = {
    "a schedule in the only loop": f"""{HEAD}
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
for _ in range(24):
    inputs = torch.randn(16, 4)
    {STEP}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
""",
    "a loader that is shuffled on request": f"""{HEAD}
from torch.utils.data import DataLoader, TensorDataset

def loader_of(x, y, shuffle):
    return DataLoader(TensorDataset(x, y), batch_size=20, shuffle=shuffle)

y = torch.arange(4).repeat_interleave(60)
x, head = torch.randn(240, 8) + y[:, None], torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
for _ in range(2):
    for inputs, targets in loader_of(x, y, False):
        loss = torch.nn.functional.cross_entropy(head(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    "a sample of which a part is changed": f"""{HEAD}
from torch.utils.data import DataLoader, Dataset

class Pictures(Dataset):
    def __init__(self):
        self.pixels = 255 * torch.rand(60, 2, 4)

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, index):
        picture = self.pixels[index]
        colour = picture[0]
        colour /= 255
        return picture

for _ in range(4):
    for x in DataLoader(Pictures(), batch_size=10, shuffle=True):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
}


@pytest.mark.parametrize("program", UNCHANGED.values(), ids=UNCHANGED.keys())
def test_nothing_is_tried_that_might_do_harm(program: str) -> None:
    series = changed(program)
    assert series.now.report.findings
    assert not series.trials
