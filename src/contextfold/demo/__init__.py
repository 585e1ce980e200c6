"""One minute with contextfold: `make demo`, or `python -m contextfold.demo [DIRECTORY] [--lang ja]`."""

from .tour import main

__all__ = ["main"]
