"""Instruments: one file for each thing to know, found by walking this folder.

An instrument listens to signals, owns its tables, and says what happened as events. The instruments that it reads are
the parameters of its constructor: nothing else reaches another's tables. An instrument knows no rules.
"""
