"""The POPS network and its rules, which every program obeys.

Networks, slots, coins, faults, and the machine that executes a slot belong here. Programs do not,
and nothing here knows one by name.
"""
