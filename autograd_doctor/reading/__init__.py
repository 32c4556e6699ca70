"""How to read frames, tensors, graphs and objects of the program: functions that keep no state of a run."""
