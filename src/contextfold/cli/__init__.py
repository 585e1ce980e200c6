"""The command line. A command parses, calls the public API, and prints: a file each, or a class in one of its kind."""

from .main import main

__all__ = ["main"]
