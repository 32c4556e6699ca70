"""Where the global generators of random numbers stand."""

from __future__ import annotations

import pickle
import random
from typing import Literal

from autograd_doctor.reading.torch_versions import random_states


def state_of(generator: Literal["torch", "Python", "NumPy"]) -> int:
    """Where a generator stands, as a number."""
    if generator == "torch":
        return hash(tuple(random_states()))
    if generator == "Python":
        return hash(random.getstate())
    import numpy

    return hash(pickle.dumps(numpy.random.get_state()))
