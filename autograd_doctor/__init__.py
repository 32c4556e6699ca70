"""autograd_doctor: finds out what is wrong with a PyTorch training loop."""

__version__ = "0.1.0"
