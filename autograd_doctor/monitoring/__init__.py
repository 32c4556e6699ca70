"""Runs that last: what they are recorded in, what that costs them, and what is told of them while they go on.

A run that is monitored is recorded in *chapters*. Each begins as a check does, with steps that are looked at closely,
and goes on with steps of which only the pulse is taken (their losses, what made one of them not finite, memory) until
what it has cost is a small enough part of the run; then comes the next one. So nothing grows with the time of a run,
and what is wrong is found whenever it begins.
"""
