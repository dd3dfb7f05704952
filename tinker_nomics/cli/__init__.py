"""The command line: argument parsing, text tables, progress."""
