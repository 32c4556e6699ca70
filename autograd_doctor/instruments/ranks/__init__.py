"""Instruments of training on several ranks."""
