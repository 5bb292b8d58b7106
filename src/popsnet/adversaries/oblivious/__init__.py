"""The adversary of oblivious algorithms: paths, what they cross, permutations that crowd them."""

__all__: list[str] = []
