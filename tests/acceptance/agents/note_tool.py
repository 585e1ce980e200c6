"""The tool that `llm --functions` gives its model."""

from pathlib import Path


def read_note(name: str) -> str:
    """Read one of the notes in this directory."""
    return Path(name).read_text(encoding="utf-8")
