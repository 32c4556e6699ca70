"""In the child process: runs a stranger's program honestly under probes, and stops it."""
