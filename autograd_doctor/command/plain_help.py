"""Help that shows what one types: no value beside a flag, which takes none, and no type beside an argument."""

from __future__ import annotations

from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption


def _as_typed(params: list[Any]) -> list[Any]:
    for each in params:
        if isinstance(each, TyperOption) and each.is_flag and each.metavar is None:
            each.metavar = ""
        if isinstance(each, TyperArgument):
            shown = f"{each.metavar}{'...' if each.nargs != 1 else ''}"
            vars(each).update(
                display_type_rich=lambda ctx: None,
                get_usage_pieces=lambda ctx, shown=shown, needed=each.required: [shown if needed else f"[{shown}]"],
            )
    return params


class PlainCommand(TyperCommand):
    """A command with such help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All options and arguments, and `--help`."""
        return _as_typed(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group of commands with such help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All options, and `--help`."""
        return _as_typed(super().get_params(ctx))
