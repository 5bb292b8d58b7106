"""The command line. Commands load the library when they are called, so that help is quick."""
