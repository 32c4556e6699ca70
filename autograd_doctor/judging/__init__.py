"""From findings to a report: rules at work, consequences folded, suppressions, the verdict."""
