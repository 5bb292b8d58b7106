"""The schedulers that ship, one idea per file."""
