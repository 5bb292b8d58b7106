"""Continuous traffic: packets that keep arriving, and schedulers that carry them."""
