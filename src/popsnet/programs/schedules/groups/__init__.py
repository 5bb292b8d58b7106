"""Plans for traffic matrices: relay groups and slots, for packets with free processors."""
