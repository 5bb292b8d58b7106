"""Several points of traffic: curves of loads, the largest stable load, and bounds of both."""
