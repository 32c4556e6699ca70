"""The doctor as a server of the Model Context Protocol, for coding agents on this machine."""
