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
from msgspec.structs import replace

from autograd_doctor.events.steps import GradientUse, OptimizerStepped
from autograd_doctor.fixers import all_fixers
from autograd_doctor.rules import Example, Rule, all_rules
from autograd_doctor.trace import Trace
from tests.changes import candidates_for, changed, tried_in
from tests.harness import body_of, check_program, marks, programs
from tests.traces import at, backward

NOT_FIXED = {
    "AD709 bad_negatives": "what seeds the generator is another line than the draw, and was not observed",
    "AD402 bad_in_a_backward_of_its_own": "an exponential overflows: the slope has to be written otherwise",
    "AD401 bad_empty_softmax": "what stands for a row in which all is masked is the person's choice",
    "AD702 bad_slices": "inputs and targets are read by indices that would have to be shuffled alike",
    "AD115 bad_cycle_as_long_as_samples": "the length that was meant stands nowhere in the program",
    "AD112 bad_taking_turns": "it may be by design, as the finding says",
    "AD110 bad": "nobody but the person knows which rate was meant",
    "AD204 bad_backbone_that_is_not_frozen": "whether the backbone is to learn, or to be frozen, nothing tells",
    "AD309 bad_adapted_in_vain": "which loss was to be computed with the weights that were made is the person's choice",
    "AD511 bad": "how the classes are to be numbered is the person's choice",
    "AD511 bad_blank": "which class is to be the blank is the person's choice",
    "AD501 bad_step_before_the_second_backward": "both losses share a forward: of which weights is the person's choice",
    "AD609 bad_objective": "whether the weights are gains or costs, and so which bound is meant, is not seen",
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
    "an optimizer that a later loop clears under another name": (
        """import torch

torch.manual_seed(0)
actor, critic = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
optimizer_actor = torch.optim.Adam(actor.parameters(), lr=0.01)
optimizer_critic = torch.optim.Adam(critic.parameters(), lr=0.01)
for _ in range(30):
    x = torch.randn(16, 4)
    wanted = x.sum(1, keepdim=True)
    loss = (actor(x) - wanted).square().mean() + (critic(x) - x[:, :1]).square().mean()
    loss.backward()
    optimizer_critic.step()
    for optimizer in (optimizer_actor, optimizer_critic):
        optimizer.zero_grad()
""",
        "    optimizer_actor.step()\n",
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
    "gradients that are cleared by hand": (
        f"""{HEAD}
for _ in range(8):
    inputs = torch.randn(16, 4)
    {STEP}
    loss.backward()
    for parameter in model.parameters():
        parameter.grad = None
    optimizer.step()
""",
        """
    for parameter in model.parameters():
        parameter.grad = None
    loss.backward()
    optimizer.step()
""",
    ),
    "a seed in a function that is called for each epoch": (
        f"""{HEAD}
def epoch(loader):
    for (inputs,) in loader:
        torch.manual_seed(3)
        {STEP.replace("inputs)", "inputs * torch.rand(4))")}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(80, 4)), batch_size=10)
for _ in range(3):
    epoch(batches)
""",
        """
torch.manual_seed(3)
def epoch(loader):
    for (inputs,) in loader:
        loss =""",
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
    "a number of a loop behind the backward": f"""{HEAD}
bias = torch.nn.Parameter(torch.zeros(1))
turns = [(optimizer, 1), (torch.optim.SGD([bias], lr=0.01), 3)]
for batch in range(24):
    inputs = torch.randn(16, 4)
    loss = torch.nn.functional.mse_loss(model(inputs) + bias, inputs.sum(1, keepdim=True))
    loss.backward()
    for each, every in turns:
        if batch % every == every - 1:
            each.step()
            each.zero_grad()
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


LIBRARY = """import torch

def fit(model, rate, clears=True):
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(24):
        x = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss({prediction}, x.sum(1, keepdim=True))
        if clears:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("code", "prediction", "call"),
    [
        ("AD604", "model(x).squeeze(1)", "fit(torch.nn.Linear(4, 1), 0.01)"),
        ("AD101", "model(x)", "tools.fit(torch.nn.Linear(4, 1), 0.01, clears=False)"),
    ],
)
def test_what_goes_on_inside_a_library_is_not_changed_where_it_is_called(
    code: str, prediction: str, call: str, tmp_path: Path
) -> None:
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "tools.py").write_text(LIBRARY.format(prediction=prediction))
    script = tmp_path / "train.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(installed)!r})\nimport tools, torch\nfit = tools.fit\n{call}\n"
    )
    series = tried_in(script)[1]
    assert code in {finding.code for finding in series.now.report.findings}
    assert not series.trials


def test_a_result_is_detached_on_a_line_that_others_share(tmp_path: Path) -> None:
    (text,) = candidates_for("AD301", "a = 1; «kept.append(loss)»; b = 2  # why\n", tmp_path)
    assert text == "a = 1; kept.append(loss.detach()); b = 2  # why\n"


def test_of_a_tuple_that_is_kept_the_part_with_a_graph_is_detached(tmp_path: Path) -> None:
    program = "‹loss = f(x)›\nif keep: «kept.append((step, loss))»\n"
    (text,) = candidates_for("AD301", program, tmp_path, related="the tensors are made here")
    assert text == "loss = f(x)\nif keep: kept.append((step, loss.detach()))\n"


def test_a_sum_is_detached_whole_where_the_total_is_weighted(tmp_path: Path) -> None:
    text, _ = candidates_for("AD302", "mean = «0.9 * mean + 0.1 * loss»\n", tmp_path)
    assert text == "mean = (0.9 * mean + 0.1 * loss).detach()\n"


def test_what_is_added_may_be_a_number_at_times(tmp_path: Path) -> None:
    first, last = candidates_for("AD302", "extra = f(x) if x else 0.0\n«total += extra»\n", tmp_path)
    assert first.endswith("total += extra.detach()\n")
    assert last.endswith("total += float(extra)\n")


def test_an_argument_goes_with_its_line_and_comments_of_others_stay(tmp_path: Path) -> None:
    program = "«loss.backward(\n    gradient=g,  # why\n    retain_graph=True,  # by habit\n)»\n"
    (text,) = candidates_for("AD304", program, tmp_path)
    assert text == "loss.backward(\n    gradient=g,  # why\n)\n"


def test_an_argument_that_is_sometimes_true_stays(tmp_path: Path) -> None:
    assert candidates_for("AD304", "«loss.backward(retain_graph=step < 3)»\n", tmp_path) == []


def test_a_variable_that_is_only_detached_is_left_as_it_is(tmp_path: Path) -> None:
    (text,) = candidates_for("AD202", "a = f(x); a = «a.detach()»; b = g(a)\n", tmp_path)
    assert text == "a = f(x); b = g(a)\n"


def test_a_number_in_a_product_leaves_its_parentheses(tmp_path: Path) -> None:
    (text,) = candidates_for("AD202", "y = 2 * «float(a + b)»\n", tmp_path)
    assert text == "y = 2 * (a + b)\n"


def test_a_chain_over_several_lines_loses_its_last_link(tmp_path: Path) -> None:
    (text,) = candidates_for("AD202", "y = (\n    «a\n    .b()\n    .detach()»\n)\n", tmp_path)
    assert text == "y = (\n    a\n    .b()\n)\n"


def test_what_several_statements_compute_with_stays_cut(tmp_path: Path) -> None:
    program = "def loss(s, r):\n    v = «critic(s).detach()»\n    a = r - v\n    return a, (v - r).square()\n"
    assert candidates_for("AD202", program, tmp_path) == []


def test_a_state_is_cut_before_its_window_where_it_comes_from_another(tmp_path: Path) -> None:
    program = "for x in window:\n    # short\n    h = «h.detach()»\n    h = cell(x, h)\n"
    texts = candidates_for("AD202", program, tmp_path, evidence={"steps_of_the_window": 4})
    assert texts[0] == "for x in window:\n    h = cell(x, h)\n"
    assert texts[1] == "# short\nh = h.detach()\nfor x in window:\n    h = cell(x, h)\n"


def test_a_state_of_several_tensors_is_detached_after_the_backward(tmp_path: Path) -> None:
    program = "y, h = «cell(x, h)»\n‹y.backward(retain_graph=True)›\n"
    texts = candidates_for("AD303", program, tmp_path, related="this backward runs through them")
    assert texts[0] == "y, h = cell(x, h.detach())\ny.backward()\n"
    assert texts[1] == "y, h = cell(x, h)\ny.backward()\nh = tuple(part.detach() for part in h)\n"


def test_a_block_ends_before_the_loss_with_the_comments_in_their_places(tmp_path: Path) -> None:
    program = "# about\n«with torch.no_grad():\n    # first\n    t = f(x)\n    # second\n    loss = g(t)»\n"
    texts = candidates_for("AD201", f"import torch\n{program}", tmp_path)
    assert texts == [
        "import torch\n# about\nwith torch.no_grad():\n    # first\n    t = f(x)\n# second\nloss = g(t)\n",
        "import torch\n# about\n# first\nt = f(x)\n# second\nloss = g(t)\n",
    ]


def test_one_of_several_decorators_goes(tmp_path: Path) -> None:
    program = "class A:\n    # about\n    @staticmethod\n    @«torch.no_grad()»\n    def f(x): pass\n"
    (text,) = candidates_for("AD201", program, tmp_path)
    assert text == "class A:\n    # about\n    @staticmethod\n    def f(x): pass\n"


def test_a_decorator_comes_below_others_and_above_it_no_comment(tmp_path: Path) -> None:
    program = "import torch\nclass A:\n    # about\n    @staticmethod\n    def f(m, x):\n        «m(x)»\n"
    texts = candidates_for("AD209", program, tmp_path, evidence={"mode": "eval"})
    assert texts[0] == program.replace("    def", "    @torch.no_grad()\n    def").translate({171: None, 187: None})


def test_a_line_that_evaluates_keeps_its_ending_and_its_tabs(tmp_path: Path) -> None:
    program = "import torch\r\nfor x in xs:\r\n\t«m(x)»; n += 1\r\n"
    (text,) = candidates_for("AD209", program, tmp_path, evidence={"mode": "train"})
    assert text == "import torch\r\nfor x in xs:\r\n\twith torch.no_grad():\r\n\t\tm(x); n += 1\r\n"


def test_an_import_comes_below_the_docstring(tmp_path: Path) -> None:
    (text,) = candidates_for("AD310", '"""Trains."""\nbest = «model.state_dict()»\n', tmp_path)
    assert text == '"""Trains."""\nimport copy\nbest = copy.deepcopy(model.state_dict())\n'


def test_an_import_under_another_name_is_used(tmp_path: Path) -> None:
    (text,) = candidates_for("AD310", "import copy as c\nif x: best = c.copy(«m.state_dict()»)\n", tmp_path)
    assert text == "import copy as c\nif x: best = c.deepcopy(m.state_dict())\n"


def test_modules_without_brackets_are_registered(tmp_path: Path) -> None:
    program = "import torch.nn as nn\nclass A(nn.Module):\n    def build(self):\n        «self.a» = B(), C()\n"
    (text,) = candidates_for("AD207", program, tmp_path, subject="self.a[0]")
    assert text.endswith("        self.a = nn.ModuleList((B(), C()))\n")


def test_an_optimizer_moves_with_what_was_made_of_it(tmp_path: Path) -> None:
    program = "opt = «Adam(m.parameters())»\n# slower\nrate = Rate(opt)\nm.head = Linear()\nrun(m, opt)\n"
    (text,) = candidates_for("AD205", program, tmp_path)
    assert text == "m.head = Linear()\nopt = Adam(m.parameters())\n# slower\nrate = Rate(opt)\nrun(m, opt)\n"


def test_a_model_that_is_changed_stays_where_it_is_made(tmp_path: Path) -> None:
    program = "m = Net()\nopt = «optimizer_of(m)»\nm.reset_head()\nrun(m, opt)\n"
    (text,) = candidates_for("AD205", program, tmp_path)
    assert text == "m = Net()\nm.reset_head()\nopt = optimizer_of(m)\nrun(m, opt)\n"
    program = "own = list(m.parameters())\nopt = «Adam(own)»\nm.head = Linear()\nrun(m, opt)\n"
    (text,) = candidates_for("AD205", program, tmp_path)
    assert text == "m.head = Linear()\nown = list(m.parameters())\nopt = Adam(own)\nrun(m, opt)\n"


def test_gradients_that_come_together_are_cleared_after_the_step(tmp_path: Path) -> None:
    program = "for x in data:\n    ‹loss(x).backward()›\n    if full():\n        «opt.step()»\n"
    told = {"related": "this backward added to what was left"}
    one, _ = candidates_for("AD101", program, tmp_path, **told)
    assert one.startswith("for x in data:\n    opt.zero_grad()\n")
    ran = replace(backward(line=2), location=replace(at(2), path=str(tmp_path / "train.py")))
    use = GradientUse(parameters=[0], backwards=[0, 1, 2], norms=[1.0], consumed=[0])
    step = OptimizerStepped(optimizer=0, location=at(4), uses=[use])
    trace = Trace.of_events(ran, replace(ran, backward=1), replace(ran, backward=2), step)
    (text,) = candidates_for("AD101", program, tmp_path, trace=trace, **told)
    assert text == program.translate(str.maketrans("", "", "«»‹›")) + "        opt.zero_grad()\n"


def test_a_gradient_goes_where_its_leaf_is_updated_by_hand(tmp_path: Path) -> None:
    program = "for p in (w, b):\n    «p.data -= rate * p.grad»  # down\n"
    (text,) = candidates_for("AD101", program, tmp_path)
    assert text == "for p in (w, b):\n    p.data -= rate * p.grad  # down\n    p.grad = None\n"
    assert candidates_for("AD101", "«p -= rate * g»\n", tmp_path) == []
