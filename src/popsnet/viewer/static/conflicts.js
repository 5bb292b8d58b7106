// conflicts
