"""Instruments of losses and models."""
