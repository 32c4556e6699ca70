"""A stand-in for an accelerator: see `device`, which gives it to PyTorch when it is imported."""
