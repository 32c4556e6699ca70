"""Instruments of `doctor profile`: where the time and the memory of an iteration go."""
