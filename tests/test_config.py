"""Settings: where they come from, and what is said about every mistake in them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from autograd_doctor import config, config_file
from autograd_doctor.accepted import Ignored
from autograd_doctor.config import Invocation, Loaded, Settings
from autograd_doctor.findings import Finding
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import Plan
from autograd_doctor.rules import Rule, Tunable
from autograd_doctor.settings import selection

CONFIGS = Path(__file__).parent.parent / "configs"


def load(folder: Path, text: str = "", *, name: str = "autograd_doctor.yaml", **more: object) -> Loaded:
    (folder / name).write_text(text, encoding="utf-8")
    return config.load(more.pop("options", {}), folder=folder, environment=more.pop("environment", {}), **more)


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()


# --------------------------------------------------------------------------------------------------------- defaults


def test_default_file_lists_every_key_with_its_default() -> None:
    text = (CONFIGS / "default.yaml").read_text(encoding="utf-8")
    written = yaml.safe_load(re.sub(r"^#(?=[a-z_]+:)", "", text, flags=re.MULTILINE))
    assert list(written) == list(dict.fromkeys(written))
    assert set(written) == set(Settings.__struct_fields__)
    assert msgspec.convert(written, Settings) == Settings()


def test_default_file_changes_nothing_as_it_is() -> None:
    assert config_file.read(CONFIGS / "default.yaml") == {}


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_file_of_the_folder_is_valid(path: Path, tmp_path: Path) -> None:
    assert config.load({}, folder=tmp_path, environment={}, file=path).file == path


def test_plan_and_settings_agree_on_defaults() -> None:
    plan = {field.name: field.default for field in msgspec.structs.fields(Plan)}
    shared = [name for name in Settings.__struct_fields__ if name in plan and name != "model"]
    assert {name: plan[name] for name in shared} == {name: getattr(Settings(), name) for name in shared}
    assert {"steps", "max_seconds", "batches_per_epoch", "polite"} <= set(shared)


# ------------------------------------------------------------------------------------------------------- precedence


def test_command_line_beats_environment_beats_file_beats_default(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        "steps: 1\nmax_seconds: 1\nmin_steps: 1",
        environment={"AUTOGRAD_DOCTOR_STEPS": "2", "AUTOGRAD_DOCTOR_MAX_SECONDS": "2"},
        options={"steps": 3, "timeout": None},
    )
    assert (loaded.settings.steps, loaded.settings.max_seconds, loaded.settings.min_steps) == (3, 2.0, 1)
    assert loaded.settings.timeout == Settings().timeout
    assert loaded.origins == {
        "steps": "command line",
        "max_seconds": "environment",
        "min_steps": "autograd_doctor.yaml",
    }


def test_environment_holds_lists_and_booleans(tmp_path: Path) -> None:
    environment = {
        "AUTOGRAD_DOCTOR_OUTPUT_FORMAT": "full, json:a.json",
        "AUTOGRAD_DOCTOR_POLITE": "false",
        "AUTOGRAD_DOCTOR": "1",
        "PATH": "/bin",
    }
    loaded = load(tmp_path, environment=environment)
    assert loaded.settings.output_format == ["full", "json:a.json"]
    assert loaded.settings.polite is False


def test_what_is_about_one_call_stands_on_the_command_line_and_in_the_environment() -> None:
    environment = {"AUTOGRAD_DOCTOR_EXIT_ZERO": "1", "AUTOGRAD_DOCTOR_CONFIG": "a.yaml", "AUTOGRAD_DOCTOR_STEPS": "3"}
    asked = config.invocation({"config": "b.yaml", "steps": 5, "isolated": None}, environment)
    assert asked == Invocation(exit_zero=True, config="b.yaml")
    with pytest.raises(Mistake, match=r"^AUTOGRAD_DOCTOR_EXIT_ZERO: expected `true` or `false`, found `maybe`$"):
        config.invocation({}, {"AUTOGRAD_DOCTOR_EXIT_ZERO": "maybe"})


def test_findings_that_a_file_silences_stay_silenced_whatever_rules_are_left_out(tmp_path: Path) -> None:
    text = "# first\nignore:\n- AD209\n- {code: AD202, subject: 'backbone.*', reason: frozen}\n"
    assert load(tmp_path, text).ignored_rules == ["AD209"]
    loaded = load(tmp_path, text, options={"ignore": ["AD3"]})
    assert loaded.ignored_rules == ["AD3"]
    silenced = Ignored(code="AD202", subject="backbone.*", reason="frozen")
    assert loaded.ignored_findings == [(silenced, "autograd_doctor.yaml:4")]


def test_findings_are_silenced_in_pyproject_too(tmp_path: Path) -> None:
    text = "[tool.autograd_doctor]\nselect = [\n  'AD1',\n]\n# why\n[[tool.autograd_doctor.ignore]]\ncode = 'AD101'\n"
    loaded = load(tmp_path, text, name="pyproject.toml")
    assert loaded.ignored_findings == [(Ignored(code="AD101"), "pyproject.toml:6")]
    shown = config.in_force(loaded, Invocation(), {}).splitlines()
    assert next(line for line in shown if line.startswith("select:")).endswith("# pyproject.toml:2")


def test_each_value_has_its_origin(tmp_path: Path) -> None:
    environment = {"AUTOGRAD_DOCTOR_SECONDS": "3", "AUTOGRAD_DOCTOR_ISOLATED": "false"}
    loaded = load(tmp_path, "\nsteps: 4\nrules: {AD101: {x: 1}}", environment=environment, options={"min_steps": 2})
    rows = config.in_force(loaded, config.invocation({}, environment), environment).splitlines()
    origins = {row.partition(":")[0]: row.rpartition("  # ")[2] for row in rows}
    assert {key: origin for key, origin in origins.items() if origin != "default"} == {
        "steps": "autograd_doctor.yaml:2",
        "rules": "autograd_doctor.yaml:3",
        "seconds": "AUTOGRAD_DOCTOR_SECONDS",
        "min_steps": "command line",
        "# isolated": "AUTOGRAD_DOCTOR_ISOLATED",
    }


_KEY = st.text("abc", min_size=1, max_size=3)
_VALUE = st.recursive(
    st.integers() | st.text("xyz [{\"'#\n", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEY, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60)
@given(values=st.dictionaries(_KEY, _VALUE, max_size=4), blank=st.integers(0, 3))
def test_lines_are_those_of_the_keys(tmp_path: Path, values: dict[str, object], blank: int) -> None:
    """Keys of the top level, each on its own line, after blank lines."""
    rows = [*[""] * blank, *(f"{key}: {json.dumps(value)}" for key, value in values.items())]
    (tmp_path / "c.yaml").write_text("\n".join(rows), encoding="utf-8")
    lines = config_file.lines(tmp_path / "c.yaml")
    assert [lines[key] for key in values] == list(range(blank + 1, blank + 1 + len(values)))


def test_reports_of_a_file_lie_beside_it(tmp_path: Path) -> None:
    formats = load(tmp_path, "output_format: [full, 'json:out/report.json']").settings.output_format
    assert formats == ["full", f"json:{tmp_path}/out/report.json"]


# -------------------------------------------------------------------------------------------------------- discovery


def test_nearest_file_upward_wins_and_the_repository_ends_the_search(tmp_path: Path) -> None:
    inner = tmp_path / "repository" / "package"
    inner.mkdir(parents=True)
    (tmp_path / "autograd_doctor.yaml").write_text("steps: 1")
    assert config_file.discover(inner) == tmp_path / "autograd_doctor.yaml"
    (tmp_path / "repository" / ".git").mkdir()
    assert config_file.discover(inner) is None
    (tmp_path / "repository" / ".autograd_doctor.yaml").write_text("steps: 1")
    assert config_file.discover(inner) == tmp_path / "repository" / ".autograd_doctor.yaml"


def test_a_file_from_above_is_named_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "project"
    inner.mkdir()
    text = "steps: 3\npolite: false\noutput_format: [concise, 'json:/etc/report.json']"
    (tmp_path / "autograd_doctor.yaml").write_text(text)
    monkeypatch.chdir(inner)
    from_above = config.load({}, folder=inner, environment={})
    settings = from_above.settings
    assert (settings.steps, settings.polite, settings.output_format) == (3, True, ["concise"])
    named, polite, formats = from_above.said
    assert named == f"using the settings in `{tmp_path}/autograd_doctor.yaml`, in a folder above the program"
    assert "`--no-polite`" in polite
    assert "`--output-format`" in formats
    given = config.load({}, folder=inner, environment={}, file=tmp_path / "autograd_doctor.yaml")
    assert (given.settings.polite, given.said) == (False, ())
    monkeypatch.chdir(tmp_path)
    here = config.load({}, folder=inner, environment={})
    assert (here.settings.polite, here.said) == (False, ())


def test_order_within_one_folder(tmp_path: Path) -> None:
    names = ["autograd_doctor.yaml", "autograd_doctor.yml", ".autograd_doctor.yaml", "pyproject.toml"]
    for name in names:
        (tmp_path / name).write_text("[tool.autograd_doctor]" if name.endswith("toml") else "")
    for name in names:
        assert config_file.discover(tmp_path) == tmp_path / name
        (tmp_path / name).unlink()
    assert config_file.discover(tmp_path) is None


@pytest.mark.parametrize("table", ["autograd_doctor", "autograd-doctor"])
def test_pyproject_in_both_spellings(tmp_path: Path, table: str) -> None:
    loaded = load(tmp_path, f"[tool.{table}]\nsteps = 4\nrules.AD101.x = 1", name="pyproject.toml")
    assert (loaded.settings.steps, loaded.settings.rules) == (4, {"AD101": {"x": 1}})


def test_pyproject_without_our_table_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.other]\nsteps = 4")
    assert config.load({}, folder=tmp_path, environment={}).file is None


def test_isolated_reads_no_file_and_config_reads_only_that(tmp_path: Path) -> None:
    assert load(tmp_path, "steps: 4", isolated=True).settings.steps == Settings().steps
    (tmp_path / "other.yaml").write_text("min_steps: 2")
    loaded = load(tmp_path, "steps: 4", file=tmp_path / "other.yaml")
    assert (loaded.settings.steps, loaded.settings.min_steps) == (Settings().steps, 2)


# ----------------------------------------------------------------------------------------------------------- mistakes

MISTAKES = {
    "ignore: [{code: AD101, pth: x}]": "autograd_doctor.yaml: ignore[0].pth: no such key; did you mean `path`?",
    "ignore: [AD1, {path: x}]": "autograd_doctor.yaml: ignore[1]: the key `code` is missing",
    "exit_zero: true": "autograd_doctor.yaml: exit_zero: no such key",
    "stpes: 3": "autograd_doctor.yaml: stpes: no such key; did you mean `steps`?",
    "steps: 0": "autograd_doctor.yaml: steps: expected a whole number >= 1, found `0`",
    "steps: many": "autograd_doctor.yaml: steps: expected a whole number, found the text `many`",
    "steps: '3'": "autograd_doctor.yaml: steps: expected a whole number, found the text `3`",
    "steps: true": "autograd_doctor.yaml: steps: expected a whole number, found `true`",
    "max_seconds: .inf": "autograd_doctor.yaml: max_seconds: expected a number <= 1000000000.0, found `inf`",
    "select: AD101": "autograd_doctor.yaml: select: expected a list, found the text `AD101`",
    "select: [AD1, 1]": "autograd_doctor.yaml: select[1]: expected text, found `1`",
    "polite:": "autograd_doctor.yaml: polite: expected `true` or `false`, found nothing",
    "fail_on: warn": "autograd_doctor.yaml: fail_on: expected `error` or `warning` or `info` or `never`, "
    "found `warn`; did you mean `warning`?",
    "model: {clas: Net}": "autograd_doctor.yaml: model.clas: no such key; did you mean `class`?",
    "model: {optimizer: {arguments: {}}}": "autograd_doctor.yaml: model.optimizer: the key `name` is missing",
    "model: {data: {inputs: [{shape: 3}]}}": "autograd_doctor.yaml: model.data.inputs[0].shape: expected a list, "
    "found `3`",
    "model: {data: {inputs: [{}, {shpe: 3}]}}": "autograd_doctor.yaml: model.data.inputs[1].shpe: no such key; "
    "did you mean `shape`?",
    "[steps]": "autograd_doctor.yaml: expected a mapping of settings, found a list",
    "steps: 1\nsteps: 2": "autograd_doctor.yaml:2:1: not valid YAML: the key `steps` appears twice",
    "steps: [": "autograd_doctor.yaml:1:9: not valid YAML: expected the node content, but found '<stream end>'",
    "ignore: &a [*a]": "autograd_doctor.yaml:1:13: not valid YAML: aliases are not supported",
    "!!int x": "autograd_doctor.yaml: not valid YAML: invalid literal for int() with base 10: 'x'",
    '"a\\nb": 1': "autograd_doctor.yaml: a\\nb: no such key",
    "on: 1": "autograd_doctor.yaml: on: no such key",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_name_file_key_expectation_and_the_nearest_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(Mistake) as caught:
        load(tmp_path, text)
    assert str(caught.value) == MISTAKES[text]


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        ({"AUTOGRAD_DOCTOR_STEPS": "x"}, "AUTOGRAD_DOCTOR_STEPS: expected a whole number, found `x`"),
        (
            {"AUTOGRAD_DOCTOR_STEP": "1"},
            "AUTOGRAD_DOCTOR_STEP: no setting has this environment variable; did you mean `AUTOGRAD_DOCTOR_STEPS`?",
        ),
    ],
)
def test_mistakes_in_the_environment_name_the_variable(tmp_path: Path, environment: dict[str, str], line: str) -> None:
    with pytest.raises(Mistake, match=f"^{re.escape(line)}$"):
        load(tmp_path, environment=environment)


def test_mistakes_on_the_command_line_name_the_option(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match=r"^--max-seconds: expected a number > 0\.0, found `0`$"):
        load(tmp_path, options={"max_seconds": 0})


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match=r"^autograd.yaml: no such settings file; did you mean `autograd_doctor.yaml`\?$"):
        load(tmp_path, file=tmp_path / "autograd.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(Mistake, match=r"^binary.yaml: cannot be read: .*utf-8"):
        load(tmp_path, file=tmp_path / "binary.yaml")
    with pytest.raises(Mistake, match=r"^pyproject.toml: not valid TOML: "):
        load(tmp_path, "[tool", name="pyproject.toml", file=tmp_path / "pyproject.toml")


def test_yaml_keeps_keys_as_text_and_knows_exponents(tmp_path: Path) -> None:
    arguments = load(tmp_path, "model: {arguments: {on: no, 1: 1e-3, y: 2020-01-01}}").settings.model
    assert arguments is not None
    assert arguments.arguments == {"on": False, "1": 1e-3, "y": "2020-01-01"}


@settings(max_examples=150)
@given(text=st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r"), max_size=60))
def test_any_text_is_settings_or_one_line(tmp_path: Path, text: str) -> None:
    _settings_or_one_line(tmp_path, text)


_VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.dates(), st.binary(max_size=3)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from([*Settings.__struct_fields__, "data", "inputs", "class", "x"]), inner),
    ),
    max_leaves=8,
)


@settings(max_examples=150)
@given(values=st.dictionaries(st.sampled_from(Settings.__struct_fields__), _VALUES, max_size=4))
def test_any_values_are_settings_or_one_line(tmp_path: Path, values: dict[str, object]) -> None:
    _settings_or_one_line(tmp_path, yaml.safe_dump(values))


@pytest.mark.parametrize("text", ["[" * 5000, "{a: " * 3000, "9" * 5000, "!!bool x", "!!float ''", "!!timestamp x"])
def test_hostile_text_is_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(Mistake) as caught:
        load(tmp_path, f"steps: {text}")
    assert "\n" not in str(caught.value)


def _settings_or_one_line(folder: Path, text: str) -> None:
    said = ""
    try:
        loaded = load(folder, text)
    except Mistake as mistake:
        said = str(mistake)
    else:
        assert config.in_force(loaded, Invocation(), {}).count("\n") == len(Settings.__struct_fields__) - 1
    assert said == "" or said.startswith("autograd_doctor.yaml")
    assert "\n" not in said


# ------------------------------------------------------------------------------------------------- rules and tunables


def rule(code: str, name: str, **tunables: float) -> Rule:
    def examine(*_: object) -> list[Finding]:
        return []

    documented = {name: Tunable(value, "what it means", "chosen: why") for name, value in tunables.items()}
    prose = dict.fromkeys(("title", "observes", "why", "fix", "fine"), "text")
    return Rule(
        code=code, name=name, severity="error", needs=(), examine=examine, bad=(), good=(), tunables=documented, **prose
    )


CATALOGUE = [rule("AD101", "missing-zero-grad", ratio=0.5), rule("AD102", "cleared"), rule("AD201", "no-grad")]


@pytest.mark.parametrize(
    ("select", "ignore", "codes"),
    [
        (["ALL"], [], ["AD101", "AD102", "AD201"]),
        (["AD"], ["AD1"], ["AD201"]),
        (["ALL", "AD101"], ["AD1"], ["AD101", "AD201"]),
        (["missing-zero-grad"], ["AD101"], []),
        (["AD1"], ["cleared"], ["AD101"]),
        (["missing-zero-grad", "AD20"], ["ALL"], ["AD101", "AD201"]),
        ([], [], []),
    ],
)
def test_the_more_specific_selector_wins(select: list[str], ignore: list[str], codes: list[str]) -> None:
    chosen = selection.selected(Loaded(Settings(select=select, ignore=ignore), {}, None), CATALOGUE)
    assert [rule.code for rule in chosen] == codes


@pytest.mark.parametrize(
    ("selector", "line"),
    [
        ("AD103", "--select: no such rule: `AD103`; did you mean `AD101`?"),
        ("mising-zero-grad", "--select: no such rule: `mising-zero-grad`; did you mean `missing-zero-grad`?"),
        ("AD9", "--select: no rule starts with `AD9`"),
        ("all", "--select: no such rule: `all`; did you mean `ALL`?"),
    ],
)
def test_unknown_selectors(selector: str, line: str) -> None:
    with pytest.raises(Mistake) as caught:
        selection.selected(Loaded(Settings(select=[selector]), {"select": "command line"}, None), CATALOGUE)
    assert str(caught.value) == line


def test_more_rules_may_be_selected_than_the_settings_do() -> None:
    wanted = Settings(select=["AD101"], extend_select=["AD201"])
    assert [each.code for each in selection.selected(Loaded(wanted, {}, None), CATALOGUE)] == ["AD101", "AD201"]
    with pytest.raises(Mistake, match=r"^--extend-select: no such rule: `AD103`; did you mean `AD101`\?$"):
        selection.selected(
            Loaded(Settings(extend_select=["AD103"]), {"extend_select": "command line"}, None), CATALOGUE
        )


def test_a_silenced_finding_names_a_rule_that_exists(tmp_path: Path) -> None:
    with pytest.raises(
        Mistake, match=r"^autograd_doctor.yaml:1: ignore.code: no such rule: `AD101x`; did you mean `AD101`"
    ):
        selection.ignored(load(tmp_path, "ignore: [{code: AD101x}]"), CATALOGUE)
    with pytest.raises(Mistake, match=r"ignoring everything is not possible$"):
        selection.ignored(load(tmp_path, "ignore: [{code: ALL}]"), CATALOGUE)


def test_tunables_are_the_rules_own_and_what_the_settings_say() -> None:
    assert selection.tunables(Loaded(Settings(), {}, None), CATALOGUE)["AD101"] == {"ratio": 0.5}
    wanted = Settings(rules={"missing-zero-grad": {"ratio": 2}})
    values = selection.tunables(Loaded(wanted, {}, None), CATALOGUE)
    assert values == {"AD101": {"ratio": 2}, "AD102": {}, "AD201": {}}
    assert CATALOGUE[0].defaults == {"ratio": 0.5}


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        ({"AD111": {}}, "c.yaml: rules.AD111: no such rule; did you mean `AD101`?"),
        ({"AD101": 3}, "c.yaml: rules.AD101: expected a mapping of tunables, found `3`"),
        ({"AD101": {"ration": 3}}, "c.yaml: rules.AD101.ration: no such tunable; did you mean `ratio`?"),
        ({"AD101": {"ratio": "x"}}, "c.yaml: rules.AD101.ratio: expected a number, found `x`"),
        ({"AD101": {"ratio": True}}, "c.yaml: rules.AD101.ratio: expected a number, found `true`"),
        ({"AD102": {"ratio": 1}}, "c.yaml: rules.AD102.ratio: no such tunable: the rule has none"),
    ],
)
def test_wrong_tunables(rules: dict[str, object], line: str) -> None:
    with pytest.raises(Mistake) as caught:
        selection.tunables(Loaded(Settings(rules=rules), {"rules": "c.yaml"}, None), CATALOGUE)
    assert str(caught.value) == line
