"""The public names are a promise: few, sorted, present, and the same for synchronous and asynchronous callers."""

import dataclasses
import enum
import importlib
import inspect
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

import contextfold

MOST_NAMES = 25


@pytest.fixture
def aio() -> ModuleType:
    return importlib.import_module("contextfold.aio")


def is_value(cls: type) -> bool:
    """Values are computed and handed out; they never read or write anything themselves."""
    kinds = (msgspec.Struct, enum.Enum, BaseException, tuple, str, int)
    if cls.__module__.startswith("contextfold.domain"):  # the ground floor does no I/O
        return True
    return issubclass(cls, kinds) or dataclasses.is_dataclass(cls) or getattr(cls, "_is_protocol", False)


def classes_in(annotation: object) -> Iterator[type]:
    if isinstance(annotation, type):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from classes_in(inner)


def handed_out(function: Callable[..., object]) -> set[type]:
    """The classes, other than values, in what a function returns."""
    returned = typing.get_type_hints(function).get("return")
    return {cls for cls in classes_in(returned) if not is_value(cls)}


def public_members(cls: type) -> dict[str, object]:
    return {name: inspect.getattr_static(cls, name) for name in dir(cls) if not name.startswith("_")}


def called(member: object) -> Callable[..., object] | None:
    """The function behind a method or property."""
    if isinstance(member, property):
        return member.fget
    if isinstance(member, staticmethod | classmethod):
        return typing.cast("Callable[..., object]", member.__func__)
    return member if inspect.isfunction(member) else None


def reached(cls: type, seen: set[type]) -> set[type]:
    """A class that does I/O, and every class it hands out that is no value."""
    if cls in seen:
        return seen
    seen = seen | {cls}
    functions = [function for member in public_members(cls).values() if (function := called(member))]
    for other in set().union(*map(handed_out, functions)):
        if other.__module__.startswith("contextfold"):
            seen = reached(other, seen)
    return seen


def names_that_do_io() -> set[str]:
    """What can be opened, what that hands out, and the functions that return either."""
    public = {name: getattr(contextfold, name) for name in contextfold.__all__}
    doing: set[type] = set()
    for value in public.values():
        if isinstance(value, type) and hasattr(value, "__enter__"):
            doing = reached(value, doing)
    functions = {name for name, value in public.items() if inspect.isfunction(value) and handed_out(value) & doing}
    return functions | {name for name, value in public.items() if value in doing}


def parameters(function: Callable[..., object]) -> list[tuple[str, object, object]]:
    return [(each.name, each.kind, each.default) for each in inspect.signature(function).parameters.values()]


def test_the_public_names_are_sorted_unique_and_few() -> None:
    assert contextfold.__all__ == sorted(set(contextfold.__all__))
    assert len(contextfold.__all__) <= MOST_NAMES


def test_every_public_name_is_there_and_no_other() -> None:
    assert all(hasattr(contextfold, name) for name in contextfold.__all__)
    assert set(contextfold.__all__) <= set(dir(contextfold))
    assert not hasattr(contextfold, "no_such_name")
    present = {
        name for name, value in vars(contextfold).items() if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert present == {name for name in contextfold.__all__ if not inspect.ismodule(getattr(contextfold, name))}


def test_the_asynchronous_names_are_sorted_unique_and_public(aio: ModuleType) -> None:
    assert aio.__all__ == sorted(set(aio.__all__))
    assert set(aio.__all__) <= set(contextfold.__all__)


def test_whatever_does_io_has_an_asynchronous_twin_of_the_same_name(aio: ModuleType) -> None:
    assert {"Store", "Thread", "open"} <= names_that_do_io()
    assert names_that_do_io() <= set(aio.__all__)
    assert all(getattr(aio, name) is not getattr(contextfold, name) for name in aio.__all__)


def test_twins_have_the_same_members_and_parameters(aio: ModuleType) -> None:
    for name in aio.__all__:
        plain, twin = getattr(contextfold, name), getattr(aio, name)
        if inspect.isfunction(plain):
            assert parameters(plain) == parameters(twin), name
            continue
        members, twins = public_members(plain), public_members(twin)
        assert members.keys() == twins.keys(), name
        for member, value in members.items():
            function, other = called(value), called(twins[member])
            if function and other:
                assert parameters(function) == parameters(other), f"{name}.{member}"


@pytest.mark.finding("N12")
def test_what_signatures_name_is_public_or_said_to_be_where_it_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    for home, name in (("folding", "Policy"), ("folding", "Report"), ("errors", "CannotUnfold")):
        found = getattr(importlib.import_module(f"contextfold.{home}"), name)
        assert (found.__name__, f"## contextfold.{home}" in page, name in page) == (name, True, True)
        assert name in (contextfold.__doc__ or "") or f"contextfold.{home}" in (contextfold.__doc__ or "")


def test_importing_contextfold_loads_neither_its_testing_room_nor_the_roof() -> None:
    rooms = {"cli", "demo", "gateway", "inspector", "testing"}
    script = "import sys, contextfold; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "contextfold" in loaded
    assert not {f"contextfold.{room}" for room in rooms} & set(loaded)
