"""The command line: one file a command. Commands parse, call the public API, and print; nothing else."""

from .main import main

__all__ = ["main"]
