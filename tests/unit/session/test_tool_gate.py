"""Which tools a request defines: a changed list waits for a fold where that spares the cache, and is told meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from contextfold.session.turn import ToolGate
from contextfold.toolbox import Hidden, ToolList

READ, WRITE = {"name": "read"}, {"name": "write"}


def listed(*definitions: dict[str, Any], mode: Any = "projected", **changes: Any) -> ToolList:
    settings: dict[str, Any] = {"visible": tuple(each["name"] for each in definitions), **changes}
    return ToolList((), mode, definitions, **settings)


HIDDEN = {"write": Hidden("phase", "not while planning")}


def test_no_tools_given_leaves_those_in_force() -> None:
    gate = ToolGate()
    assert gate.take(None, [READ]) is None
    assert not gate.is_changed


@pytest.mark.parametrize(("before", "is_changed"), [(None, False), ([READ], False), ([WRITE], True)])
def test_plain_definitions_are_taken_as_they_are(before: list[dict[str, str]] | None, is_changed: bool) -> None:
    gate = ToolGate()
    assert gate.take([READ], before) == [READ]
    assert (gate.is_changed, gate.waits, gate.tools, gate.told) == (is_changed, False, None, None)


def test_the_first_list_and_an_equal_one_go_at_once() -> None:
    gate = ToolGate()
    assert gate.take(listed(READ), None) == [READ]
    assert (gate.waits, gate.is_changed) == (False, False)
    assert gate.take(listed(READ), [READ]) == [READ]
    assert (gate.waits, gate.is_changed) == (False, False)


def test_a_changed_projected_list_waits_and_a_forced_one_does_not() -> None:
    gate = ToolGate()
    assert gate.take(listed(WRITE), [READ]) is None
    assert (gate.waits, gate.is_changed) == (True, False)
    assert gate.take(listed(WRITE, is_forced=True), [READ]) == [WRITE]
    assert (gate.waits, gate.is_changed) == (False, True)


def test_an_empty_list_never_replaces_another_even_if_it_is_forced() -> None:
    gate = ToolGate()
    assert gate.take(listed(is_forced=True), [READ]) is None
    assert gate.waits


def test_a_changed_stable_list_goes_at_once() -> None:
    gate = ToolGate()
    assert gate.take(listed(WRITE, mode="stable"), [READ]) == [WRITE]
    assert (gate.waits, gate.is_changed) == (False, True)


@pytest.mark.parametrize(
    ("given", "before", "told"),
    [
        (listed(READ, hidden=HIDDEN), None, None),  # only what is visible is defined
        (listed(READ, hidden=HIDDEN), [READ, WRITE], ("read",)),  # the list before it still is
        (listed(READ, WRITE, mode="stable", hidden=HIDDEN, visible=("read",)), None, ("read",)),
        (listed(READ, WRITE, mode="stable"), None, None),  # nothing is hidden
    ],
)
def test_what_may_be_called_is_told_where_the_definitions_do_not_say_it(given: Any, before: Any, told: Any) -> None:
    gate = ToolGate()
    gate.take(given, before)
    assert gate.told == told
