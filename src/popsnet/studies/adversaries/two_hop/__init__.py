"""The adversary of two-hop algorithms: packets that block each other for many rounds."""
