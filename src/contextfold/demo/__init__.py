"""One minute with contextfold, for people who have just found it: `contextfold demo`."""

from .screen import Screen
from .tour import Tour, directory_for, main
from .tour import run as tour

__all__ = ["Screen", "Tour", "directory_for", "main", "tour"]
