"""Instruments of numerics."""
