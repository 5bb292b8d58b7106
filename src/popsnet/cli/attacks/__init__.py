"""What the commands of ``popsnet adversary`` do: a module a command."""

__all__: list[str] = []
