"""What is to be sent: permutations to route, and the arrivals of continuous traffic.

Everything that decides which packets there are, where from, where to and when belongs here. How
they are delivered does not.
"""
