"""Instruments of the step cycle."""
