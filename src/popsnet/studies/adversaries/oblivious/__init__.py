"""The adversary of oblivious algorithms: path systems and permutations that congest them."""
