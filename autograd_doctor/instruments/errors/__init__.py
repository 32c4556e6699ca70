"""Instruments of autograd's complaints, custom functions and checkpoints."""
