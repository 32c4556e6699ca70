"""`autograd_doctor.monitor` in one line of a framework: a callback, a handler, a tracker for each of them.

A module here is imported by who has the framework, and imports it; nothing else of the doctor does. They begin to watch
where the framework begins to train, and are over with the training, also with one that raises where the framework tells
of that. Each training is a run of its own.
"""
