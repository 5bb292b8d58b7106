"""The command line. What a command does is a module of its own, imported when it is called."""
