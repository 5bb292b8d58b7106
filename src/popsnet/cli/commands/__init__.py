"""What can be typed: a module a family of commands, with their options and nothing else."""

__all__: list[str] = []
