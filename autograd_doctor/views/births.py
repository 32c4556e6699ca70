"""What is said of an operation that made NaN or Inf, whatever the reason."""

from __future__ import annotations

from autograd_doctor.events.numerics import NonFiniteProduced
from autograd_doctor.findings import Evidence, Related


def described_operands(born: NonFiniteProduced) -> str:
    """What went in, in words; empty where nothing is known of it."""
    return "; ".join(operand.described for operand in born.operands)


def origins(born: NonFiniteProduced) -> tuple[Related, ...]:
    """Where the operands were made, if that was at other lines."""
    return tuple(
        Related(f"{operand.described.split(' of ')[0]} was made here", operand.made_at)
        for operand in born.operands
        if operand.made_at is not None and operand.made_at != born.location
    )[:3]


def rows(born: NonFiniteProduced) -> Evidence:
    """Which rows of the batch were spoiled."""
    return {"rows_of_the_batch": ", ".join(map(str, born.rows))} if born.rows else {}
