"""Rules of what autograd refuses, of custom functions and checkpoints, and of crashes (AD5xx)."""
