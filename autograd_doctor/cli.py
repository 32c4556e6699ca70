"""The command line: what can be asked for, in typer's words; everything else is elsewhere."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer import Argument, Context, Option

from autograd_doctor import __version__
from autograd_doctor.command import completion
from autograd_doctor.command.compare_command import compare
from autograd_doctor.command.complaints import complain
from autograd_doctor.command.fix_command import fix as fix_command
from autograd_doctor.command.gradcheck_command import gradcheck
from autograd_doctor.command.mcp_command import mcp
from autograd_doctor.command.options import (
    HOW_LONG,
    RANKS,
    WHAT,
    AddIgnore,
    Against,
    Arguments,
    Baseline,
    Color,
    Config,
    ExitZero,
    ExtendSelect,
    FailOn,
    Ignore,
    IsModule,
    Isolated,
    MaxSeconds,
    MinSteps,
    NoIgnores,
    OneTarget,
    OutputFile,
    OutputFormat,
    PruneBaseline,
    Python,
    SaveTrace,
    Script,
    Seconds,
    Select,
    Sets,
    Steps,
    StrictBaseline,
    TextFormat,
    TextOrJson,
    WriteBaseline,
    request,
)
from autograd_doctor.command.plain_help import PlainCommand, PlainGroup
from autograd_doctor.command.profile_command import profile as profile_command
from autograd_doctor.command.watch_command import watch
from autograd_doctor.findings import ExitCode
from autograd_doctor.mistakes import Mistake

app = typer.Typer(
    name="doctor",
    cls=PlainGroup,
    help="Find out in seconds what is wrong with a PyTorch training loop.",
    epilog="Start with `doctor check train.py --epochs 1`, just as you would run `python train.py --epochs 1`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_ADD_IGNORE = "--add-ignore"
_TARGET_FIRST = {"allow_interspersed_args": False}


class _Check(PlainCommand):
    """Everything after the target is the program's, except after a function or a file that only defines."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = list(args)
        # The reason is optional, and click would take the target for it.
        typed = [f"{word}=" if word == _ADD_IGNORE else word for word in args]
        rest = super().parse_args(ctx, list(typed))
        target, after = ctx.params.get("script"), len(ctx.params.get("arguments") or ())
        if after:
            ctx.params["arguments"] = given[len(given) - after :]
        if not after or ctx.params.get("is_module") or not _has_no_arguments(target):
            _warn_of_mislaid(target, given[len(given) - after :], {word for each in self.params for word in each.opts})
            return rest
        known = {word for each in self.get_params(ctx) for word in (*each.opts, *each.secondary_opts)}
        for word in (argument.partition("=")[0] for argument in given[-after:]):
            if ":" in str(target) and word.startswith("--") and word not in known:
                said = f"pass arguments to a function as `--set {word.strip('-').replace('-', '_')}=VALUE`"
                raise Mistake(f"{word}: the doctor has no such option; {said}")
        rest = super().parse_args(ctx, [*typed[: -after - 1], *typed[-after:], typed[-after - 1]])
        if ctx.params.get("script") != target and ":" in str(target):
            raise Mistake(f"{target}: pass arguments to a function with `--set NAME=VALUE`")
        return rest


def _has_no_arguments(target: str | None) -> bool:
    from autograd_doctor.settings.calls import is_call

    return _only_defines(target) or (target is not None and is_call(target))


def _only_defines(target: str | None) -> bool:
    if not target or not target.endswith(".py") or not Path(target).is_file():
        return False
    from autograd_doctor.settings.model_file import look

    try:
        return look(target).is_for_model_mode
    except Mistake:  # it is said later, of the Python that runs the program
        return False


def _warn_of_mislaid(target: str | None, arguments: list[str], options: set[str]) -> None:
    """Say so if options of ours went to a program whose source does not speak of them."""
    path = Path(target or "")
    source = path.read_text(encoding="utf-8", errors="replace").replace("-", "_") if path.is_file() else None
    for word in (argument.partition("=")[0] for argument in arguments):
        if source and word in options - {"-m", "-o"} and word.strip("-").replace("-", "_") not in source:
            said = f"`{word}` comes after {target} and is passed to it; the doctor's own options come before it"
            print(f"note: {said}", file=sys.stderr)


def _print_version(wanted: bool) -> None:
    from autograd_doctor.command.outputs import say

    if wanted:
        say(f"autograd_doctor {__version__}\n")
        raise typer.Exit


@app.command(cls=_Check, context_settings=_TARGET_FIRST)
def check(
    ctx: Context,
    script: Script = None,
    arguments: Arguments = None,
    is_module: IsModule = False,
    sets: Sets = None,
    steps: Steps = None,
    seconds: Seconds = None,
    max_seconds: MaxSeconds = None,
    batches_per_epoch: Annotated[
        int | None,
        Option(
            metavar="N",
            help="Cut long passes over a data loader after this many batches; 0: never.",
            rich_help_panel=HOW_LONG,
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        Option(
            metavar="S", help="Treat the program as hung after this many seconds; 0: never.", rich_help_panel=HOW_LONG
        ),
    ] = None,
    nproc_per_node: Annotated[
        int | None,
        Option(metavar="N", help="Start this many ranks with torchrun.", rich_help_panel=RANKS),
    ] = None,
    rank_reports: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="For a rank of another launcher: write its trace here, for `doctor report DIR`.",
            rich_help_panel=RANKS,
        ),
    ] = None,
    profile: Annotated[
        bool | None,
        Option(
            "--profile",
            help="Also measure where time and memory go, in a second run.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    target: OneTarget = None,
    python: Python = None,
    select: Select = None,
    extend_select: ExtendSelect = None,
    ignore: Ignore = None,
    fail_on: FailOn = None,
    min_steps: MinSteps = None,
    exit_zero: ExitZero = None,
    no_ignores: NoIgnores = None,
    baseline: Baseline = None,
    write_baseline: WriteBaseline = None,
    prune_baseline: PruneBaseline = None,
    strict_baseline: StrictBaseline = None,
    add_ignore: AddIgnore = None,
    polite: Annotated[
        bool | None,
        Option(help="Restore changed files and disable experiment trackers.", show_default=False),
    ] = None,
    output_format: OutputFormat = None,
    output_file: OutputFile = None,
    color: Color = None,
    save_trace: SaveTrace = None,
    config: Config = None,
    isolated: Isolated = None,
) -> None:
    """Run a training program for a few steps, watch it, and report what is wrong with it.

    Everything after SCRIPT is passed to the program. If SCRIPT is a function,
    `--set NAME=VALUE` passes arguments to it. If it is a file that only defines
    a model, `--config FILE` says how to train it. Without SCRIPT, all `targets`
    of the settings are checked, one after another.

    Exit codes: 0 nothing to fail on, 1 findings, 2 a mistake in the command or
    the settings, or an internal error, 3 the program failed and no rule explains
    why, 4 too little was seen to judge, 130 Ctrl-C.
    """
    if script is None:
        from autograd_doctor.command import several

        if is_module or sets:
            raise Mistake(f"{'-m' if is_module else '--set'}: for which target? `doctor check --help` shows the order")
        raise typer.Exit(several.check(request(ctx, "")))
    from autograd_doctor.command import checking

    if target:
        raise Mistake(f"--target: names a target of the settings, and {script} is a target itself: give one of the two")
    asked = request(ctx, script, arguments or [], is_module=is_module, sets=sets or [])
    raise typer.Exit(checking.check(asked))


app.command(name="fix", cls=_Check, context_settings=_TARGET_FIRST)(fix_command)
app.command(name="profile", cls=_Check, context_settings=_TARGET_FIRST)(profile_command)
app.command(cls=PlainCommand)(gradcheck)
app.command(cls=PlainCommand)(compare)
app.command(cls=PlainCommand)(mcp)
app.command(cls=PlainCommand)(watch)


@app.command(cls=PlainCommand)
def report(
    ctx: Context,
    file: Annotated[
        str, Argument(metavar="FILE", help="A report in the format `json`, or a trace saved by `--save-trace`.")
    ],
    against: Against = None,
    select: Select = None,
    extend_select: ExtendSelect = None,
    ignore: Ignore = None,
    fail_on: FailOn = None,
    min_steps: MinSteps = None,
    exit_zero: ExitZero = None,
    no_ignores: NoIgnores = None,
    baseline: Baseline = None,
    write_baseline: WriteBaseline = None,
    prune_baseline: PruneBaseline = None,
    strict_baseline: StrictBaseline = None,
    output_format: OutputFormat = None,
    output_file: OutputFile = None,
    color: Color = None,
    config: Config = None,
    isolated: Isolated = None,
) -> None:
    """Render a saved report again, or judge a saved trace again, without running the program.

    A report keeps its exit code; a trace can be judged with other rules. `--against` compares two reports: what is
    fixed, what is new, and the curves of both.
    """
    from autograd_doctor.command import saved

    raise typer.Exit(saved.report(request(ctx, file), against))


@app.command(cls=PlainCommand)
def rules(output_format: TextOrJson = TextFormat.TEXT, color: Color = None) -> None:
    """List the rules."""
    from autograd_doctor.command import pages

    pages.print_rules(output_format is TextFormat.JSON, color or "auto")


@app.command(cls=PlainCommand)
def explain(
    rule: Annotated[
        str,
        Argument(
            metavar="CODE",
            help="A rule's code or name, or a prefix of codes.",
            show_default=False,
            autocompletion=completion.rules,
        ),
    ] = "",
    everything: Annotated[bool, Option("--all", help="Explain every rule.")] = False,
    output_format: TextOrJson = TextFormat.TEXT,
    color: Color = None,
) -> None:
    """Explain a rule: what it checks, why it is bad, how to fix it, when it is fine, with two complete programs.

    For a family, such as `AD1`, list its rules.
    """
    from autograd_doctor.command import pages

    if bool(rule) == everything:
        raise typer.BadParameter("give a rule's code or name, a prefix of codes, or --all")
    pages.print_pages(rule, output_format is TextFormat.JSON, color or "auto")


@app.command(cls=PlainCommand)
def init(
    script: Annotated[str, Argument(metavar="SCRIPT", help="The program to check; default: all that are found.")] = "",
    ci: Annotated[
        str, Option(metavar="SERVICE", help="github, gitlab or none.", autocompletion=completion.services)
    ] = "github",
) -> None:
    """Write a settings file that lists the programs to check and explains every key, and a CI workflow.

    Existing files are never overwritten.
    """
    from autograd_doctor.command import starting
    from autograd_doctor.command.outputs import say

    say(starting.start(Path(), script, ci))


@app.callback()
def _doctor(
    version: Annotated[
        bool, Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command(name="version", cls=PlainCommand)
def version_command() -> None:
    """Print the version."""
    _print_version(True)


@app.command(cls=PlainCommand)
def env(python: Python = None) -> None:
    """Print what a bug report should contain about this machine."""
    from autograd_doctor.command.environment import lines
    from autograd_doctor.command.outputs import say

    say("\n".join(lines(python)) + "\n")


@app.command(name="config", cls=PlainCommand)
def config_command(
    ctx: Context,
    script: Annotated[str, Argument(metavar="SCRIPT", help="The program whose settings to print.")] = "",
    show: Annotated[bool, Option("--show", help="Print the settings in force and where each comes from.")] = False,
    config: Config = None,
    isolated: Isolated = None,
) -> None:
    """Print the settings in force and where each comes from."""
    from autograd_doctor.command.outputs import say
    from autograd_doctor.command.request import load_settings
    from autograd_doctor.config import in_force
    from autograd_doctor.settings import target_list

    asked = request(ctx, script)
    loaded = load_settings(asked)
    if loaded.file:
        target_list.listed(loaded.file)
    say(in_force(loaded, asked.asked, os.environ) + "\n")


def main() -> NoReturn:
    """The entry point: typer's own exits pass, a mistake or a failure of ours becomes one line and exit code 2."""
    _open_streams()
    try:
        app()
    except Mistake as mistake:
        _give_up(mistake)
    except KeyboardInterrupt:
        _exit_interrupted()
    except SystemExit as ended:
        if ended.code == ExitCode.INTERRUPTED:
            _exit_interrupted()
        raise
    except Exception as error:
        _give_up(Mistake(_own_failure(error)))
    sys.exit(0)


def _exit_interrupted() -> NoReturn:
    """A further Ctrl-C that came while Python shuts down would be the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(ExitCode.INTERRUPTED)


def _open_streams() -> None:
    """Writing must work where a stream was closed (`>&-`) and where its encoding lacks a character."""
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _own_failure(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    said = " ".join(str(error).split())
    where = f"{Path(last.filename).name}:{last.lineno}"
    return f"autograd_doctor itself failed, which is a bug: {type(error).__name__}: {said} (at {where})"


def _give_up(mistake: Mistake) -> NoReturn:
    complain(mistake)
    sys.exit(ExitCode.USAGE)
