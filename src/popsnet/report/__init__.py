"""Results as they are shown: tables, notes and verdicts as text, JSON, CSV and HTML."""

__all__: list[str] = []
