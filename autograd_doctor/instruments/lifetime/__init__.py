"""Instruments of the lifetime of graphs."""
