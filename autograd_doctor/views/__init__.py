"""Derivations from a trace that several rules share."""
