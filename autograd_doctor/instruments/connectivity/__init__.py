"""Instruments of connectivity."""
