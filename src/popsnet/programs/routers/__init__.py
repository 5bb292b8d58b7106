"""The routers that ship, one idea per file."""
