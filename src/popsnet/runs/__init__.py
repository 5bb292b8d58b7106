"""Runs of one experiment, executed now: routes, points of traffic, schedules, distributions.

What executes one experiment, and its results with their statistics and reports, belongs here.
Nothing is kept in a store: that is in ``sweeps``. The file of one distribution is (``tally_file``).
"""
