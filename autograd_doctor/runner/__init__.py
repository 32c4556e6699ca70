"""In the child process: runs a stranger's program honestly under instruments, and stops it."""
