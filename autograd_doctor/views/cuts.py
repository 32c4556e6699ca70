"""Cuts in words: what ended a gradient path, and what to do about it."""

from __future__ import annotations

from autograd_doctor.events.facts import GradSwitch
from autograd_doctor.events.steps import Cut
from autograd_doctor.operations import COMPARISONS

_HELP = {
    "detach": "remove the `detach()`, or keep it only on the side that must not learn",
    "data": "use the tensor itself instead of its `.data`",
    "item": "use the tensor in the loss; take Python numbers only for logging",
    "numpy": "write this part with torch operations, so that it stays in the graph",
    "tensor": "join tensors with `torch.stack` or `torch.cat`; `torch.tensor` only copies their values",
    "argmax": "build the loss on the scores (softmax, Gumbel-softmax, log-probabilities), not on the index",
    "zero": "use a straight-through estimator, as in `x + (x.round() - x).detach()`, or a smooth function",
    "cast": "keep a floating-point dtype until the loss is computed",
    "grad": "compute the gradient with `torch.autograd.grad(…, create_graph=True)`, so that it has a graph",
    "function": "return a gradient for this input from the function's `backward`",
}
_KINDS = {
    "detach_": "detach", "tolist": "item", "__float__": "item", "__int__": "item", "__index__": "item",
    "__array__": "numpy", "from_numpy": "numpy", "as_tensor": "tensor", "asarray": "tensor", "new_tensor": "tensor",
    "argmin": "argmax", "argsort": "argmax", "long": "cast", "int": "cast", "bool": "cast", "to": "cast",
    "type": "cast", "short": "cast", "byte": "cast",
}  # fmt: skip
_DEFAULT_HELP = "use an operation that autograd can differentiate"


def is_comparison(operation: str) -> bool:
    return operation.strip("_") in COMPARISONS


def called(operation: str) -> str:
    """Python turns a comparison with a parameter around: `h > threshold` arrives as `lt`, which nobody wrote."""
    return "a comparison" if is_comparison(operation) else f"`{operation}`"


def help_for(cut: Cut) -> str:
    if cut.reason == "zero-derivative":
        return _HELP["zero"]
    if cut.reason == "function":
        return _HELP["function"]
    operation = cut.operation.rsplit(".", 1)[-1]
    if is_comparison(operation):
        return "if the comparison must be learned, use a smooth substitute, such as the sigmoid of the difference"
    return _HELP.get(_KINDS.get(operation, operation), _DEFAULT_HELP)


def described(switch: GradSwitch) -> str:
    if switch.form == "decorator":
        return (
            f"the decorator `{switch.kind}` on `{switch.function}`"
            if switch.function
            else f"the decorator `{switch.kind}`"
        )
    if switch.form == "call":
        return f"a call of `{switch.kind}(False)`"
    return f"`{switch.kind}`" if switch.form == "framework" else f"the `{switch.kind}` block"
