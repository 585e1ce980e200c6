"""The public API of contextfold and nothing else: every other name may change without notice."""

__version__ = "0.1.0"

__all__: list[str] = []
