"""Formulas and fluid limits: what mathematics says about routing times."""

__all__: list[str] = []
