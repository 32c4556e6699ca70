"""One file for each instrument: what it states, and answers, when signals are invented."""
