"""Signals: what happens at the seams of PyTorch, as it happens.

Each entry point of torch is patched in one file of this folder, exactly once, and only while somebody listens. Who
listens are the instruments; a test, or the callback of a framework, may send the same signals.
"""

from __future__ import annotations

from autograd_doctor.signals.backward import Backward
from autograd_doctor.signals.captures import Captures
from autograd_doctor.signals.checkpoints import Checkpoints
from autograd_doctor.signals.choosers import Choosers
from autograd_doctor.signals.clipping import Clipping
from autograd_doctor.signals.collectives import Collectives
from autograd_doctor.signals.compiled import Compiled
from autograd_doctor.signals.custom_functions import CustomFunctions
from autograd_doctor.signals.distributions import Distributions
from autograd_doctor.signals.fetches import Fetches
from autograd_doctor.signals.flags import Flags
from autograd_doctor.signals.grad_modes import GradModes
from autograd_doctor.signals.guard import Failed, Guard
from autograd_doctor.signals.hooks import Hooks
from autograd_doctor.signals.initialisers import Initialisers
from autograd_doctor.signals.listings import Listings
from autograd_doctor.signals.loaders import Loaders
from autograd_doctor.signals.loads import Loads
from autograd_doctor.signals.modules import ModuleCalls, TrainModes
from autograd_doctor.signals.moves import Moves
from autograd_doctor.signals.operations import Operations
from autograd_doctor.signals.optimizers import Clearing, OptimizersBuilt, OptimizerSteps
from autograd_doctor.signals.reads import GradientReads, ValueReads
from autograd_doctor.signals.registration import Registration
from autograd_doctor.signals.saves import Saves
from autograd_doctor.signals.scalers import Scalers
from autograd_doctor.signals.schedulers import Schedulers
from autograd_doctor.signals.seeds import Seeds
from autograd_doctor.signals.signal import Seam
from autograd_doctor.signals.states import States
from autograd_doctor.signals.transforms import Transforms
from autograd_doctor.signals.warned import Warnings
from autograd_doctor.signals.wrapped_steps import WrappedSteps
from autograd_doctor.signals.wrapping import Wrapping


class Signals:
    """All seams of one run."""

    def __init__(self, failed: Failed) -> None:
        self.guard = guard = Guard(failed)
        self.operations = Operations(guard)
        self.custom_functions = CustomFunctions(guard)
        self.backward = Backward(guard)
        self.transforms = Transforms(guard)
        self.modules = ModuleCalls(guard)
        self.train_modes = TrainModes(guard)
        self.grad_modes = GradModes(guard)
        self.gradient_reads = GradientReads(guard)
        self.value_reads = ValueReads(guard)
        self.optimizers = OptimizersBuilt(guard)
        self.steps = OptimizerSteps(guard)
        self.wrapped_steps = WrappedSteps(guard)
        self.clearing = Clearing(guard)
        self.clipping = Clipping(guard)
        self.scalers = Scalers(guard)
        self.schedulers = Schedulers(guard)
        self.choosers = Choosers(guard)
        self.loaders = Loaders(guard)
        self.fetches = Fetches(guard)
        self.moves = Moves(guard)
        self.hooks = Hooks(guard)
        self.states = States(guard)
        self.loads = Loads(guard)
        self.listings = Listings(guard)
        self.saves = Saves(guard)
        self.registration = Registration(guard)
        self.flags = Flags(guard)
        self.seeds = Seeds(guard)
        self.initialisers = Initialisers(guard)
        self.warned = Warnings(guard)
        self.distributions = Distributions(guard)
        self.wrapping = Wrapping(guard)
        self.collectives = Collectives(guard)
        self.captures = Captures(guard)
        self.compiled = Compiled(guard, self.operations)
        self.checkpoints = Checkpoints(guard, self.operations)

    @property
    def seams(self) -> list[Seam]:
        return [seam for seam in vars(self).values() if isinstance(seam, Seam)]
