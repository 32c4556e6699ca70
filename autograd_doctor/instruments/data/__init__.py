"""Instruments of data and of evaluation."""
