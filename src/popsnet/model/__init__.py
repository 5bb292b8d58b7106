"""The POPS network and its rules, which every program obeys.

Networks, slots, coins, faults, couplers (``medium``: which messages collide, who hears the others)
and the machine that executes a slot belong here. Programs do not, and nothing here knows one by
name.
"""
