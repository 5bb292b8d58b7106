"""Runs of one experiment, executed now: ``route`` and ``schedule``, and their results."""
