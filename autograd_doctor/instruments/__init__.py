"""Instruments: one file for each thing to know, in the folder of its family, found by walking the folders.

An instrument listens to signals, owns its tables, and says what happened as events. The instruments that it reads are
the parameters of its constructor: nothing else reaches another's tables. An instrument knows no rules.
"""
