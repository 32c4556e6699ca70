"""What programs call: a check of another program, a watch over a piece of one's own, and an assertion for tests.

The names that people use are those of `autograd_doctor` itself, which loads these files when it is asked for them.
"""
