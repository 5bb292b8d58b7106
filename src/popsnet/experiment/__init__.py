"""Everything that decides a result, as one value with a digest.

The experiments of routers and of schedulers, and when they stop, belong here. Executing them does
not.
"""
