"""The command line: options, one call of the library per command, and its report.

Texts of options and exit codes belong here. Nothing is computed here. Commands load the library
when they are called, so that help is quick.
"""
