"""Threads as lines of JSON, for people, for moving and for keeping."""

from .take import Outline
from .thread import export_lines, export_thread, import_lines, import_thread

__all__ = ["Outline", "export_lines", "export_thread", "import_lines", "import_thread"]
