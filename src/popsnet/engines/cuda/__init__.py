"""The ``cuda`` engine: the kernels of ``fused`` on a GPU, for very large runs and for very many."""
