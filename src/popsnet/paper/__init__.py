"""The paper: its printed figures, ours beside them, and the report."""

__all__: list[str] = []
