"""The adversary of oblivious algorithms: path systems and permutations that congest them."""

__all__: list[str] = []
