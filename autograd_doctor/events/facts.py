"""What events of several families say of a tensor, and of a switch of gradients."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autograd_doctor.findings import Location


class GradSwitch(Struct, frozen=True):
    """What switched gradients off.

    `form` tells how: a `with` block, a decorator (then `function` names the decorated function), a bare call
    (`set_grad_enabled(False)`, never undone by a block), or a framework that did it by itself. `conditional`: a choice
    of the program's lies on the way to it, as a flag or a counter of steps, which may be made otherwise later.
    """

    kind: Literal["no_grad", "inference_mode", "set_grad_enabled"]
    form: Literal["block", "decorator", "call", "framework"]
    location: Location | None
    function: str = ""
    conditional: bool = False


class TensorFacts(Struct, frozen=True, omit_defaults=True):
    """What is worth saying about a tensor. `low` and `high` are taken over its finite values.

    `name` is the variable that held it, empty if none was found; `made_at` the user's line that computed it;
    `parameter` its number if it is a parameter; `made_under` what had switched inference mode on when it was made;
    `drawn_from` where in a data set's code, or in what made the data, a field of a batch came from.
    """

    shape: list[int]
    dtype: str
    name: str = ""
    device: str = "cpu"
    requires_grad: bool = False
    is_leaf: bool = True
    operation: str = ""
    made_at: Location | None = None
    low: float | None = None
    high: float | None = None
    nan: int = 0
    inf: int = 0
    numel: int = 0
    parameter: int | None = None
    made_under: GradSwitch | None = None
    drawn_from: Location | None = None

    @property
    def described(self) -> str:
        """Name, shape and range in a few words: "`x` of shape [32, 1] from -0.3 to 1.2"."""
        words = [f"`{self.name}`" if self.name else "a tensor", f"of shape {self.shape}"]
        if self.low is not None and self.high is not None:
            words.append(f"from {self.low:.4g} to {self.high:.4g}" if self.low != self.high else f"at {self.low:.4g}")
        spoiled = " and ".join(f"{count} {name}" for name, count in (("NaN", self.nan), ("Inf", self.inf)) if count)
        return " ".join(words) + (f" with {spoiled}" if spoiled else "")
