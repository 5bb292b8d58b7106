"""Programs that run on the machine: the register of all kinds of them, and the files of users."""
