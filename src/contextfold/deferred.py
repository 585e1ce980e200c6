"""Modules that are imported, and patterns that are compiled, when they are used first: most sessions never use them.

Importing `Session` is what every program that uses contextfold waits for, and every command of the command line. A type
checker is shown the import itself, so that names and floors are checked as everywhere:

    if TYPE_CHECKING:
        import asyncio
    else:
        asyncio = deferred("asyncio")
"""

import re
from importlib import import_module
from types import ModuleType
from typing import AnyStr, Generic, cast


class DeferredModule(ModuleType):
    """Stands for a module; what was once taken from it is at hand from then on."""

    def __getattr__(self, name: str) -> object:
        value: object = getattr(import_module(self.__name__), name)
        self.__dict__[name] = value
        return value


def deferred(name: str) -> DeferredModule:
    """The module of this name, not imported yet."""
    return DeferredModule(name)


class DeferredPattern(Generic[AnyStr]):
    """Stands for a pattern; a method that was once used is the compiled pattern's own from then on."""

    def __init__(self, text: AnyStr, flags: int) -> None:
        self._source: tuple[AnyStr, int] = text, flags

    def compiled(self) -> re.Pattern[AnyStr]:
        """The pattern itself."""
        text, flags = self._source
        return re.compile(text, flags)

    def __getattr__(self, name: str) -> object:
        value: object = getattr(self.compiled(), name)
        self.__dict__[name] = value
        return value


def expression(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The pattern that `re.compile` would give, not compiled yet."""
    return cast("re.Pattern[AnyStr]", DeferredPattern(text, flags))
