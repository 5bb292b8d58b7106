"""The adversary of rigid algorithms: what a fixed pattern can carry, and where it must fail."""

__all__: list[str] = []
