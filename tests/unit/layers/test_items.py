"""Every field that is declared is shown, whoever declared it."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any, get_args, get_origin

import msgspec
import pytest
from msgspec.structs import replace

from contextfold import layers as L
from contextfold.errors import BadConfiguration
from contextfold.layers import DIRECTIONS, LAYERS, Item, kind_of
from tests.unit.layers.hostile import NONCE, tags
from tests.unit.layers.scene import shown, state, text_of

# What seed 000 declares in each layer, and the item that holds it here.
SEED = {
    "system": {"role", "policies", "constraints", "audit"},
    "task": {"goal", "success", "output", "deadline"},
    "runtime": {"phase", "permissions", "environment", "failures"},
    "short_term": {"variable", "recentturn"},
    "episodic": {"summary", "decision", "milestone"},
    "semantic": {"fact", "definition", "preference", "knowledge"},
    "procedural": {"skill", "template", "checklist", "procedure"},
    "observations": {"observation", "measurement"},
    "retrieved": {"retrieved", "citation"},
    "work": {"step", "change", "hypothesis", "draft"},
}
MANY = tuple(kind for layer in LAYERS if layer.level > 2 for kind in layer.items)


def value_for(annotation: Any, name: str) -> Any:
    """Something of this type that can be found again in a text."""
    options = get_args(annotation)
    if annotation is float or float in options:
        return 0.75
    if get_origin(annotation) is tuple:
        return (f"{name} one", f"{name} two")
    if options and all(isinstance(option, str) for option in options):
        return options[-1]
    return f"words of {name}"


def filled(kind: type[Item]) -> tuple[Item, dict[str, Any]]:
    declared = [field for field in msgspec.structs.fields(kind) if field.name not in DIRECTIONS]
    values = {field.name: value_for(field.type, field.name) for field in declared}
    return kind(**values), values


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, tuple):
        yield from (leaf for each in value for leaf in leaves(each))
    else:
        yield str(value)


@pytest.mark.seed("E12", "E9")
@pytest.mark.parametrize("kind", MANY, ids=kind_of)
def test_every_field_of_every_item_is_shown(kind: type[Item]) -> None:
    item, values = filled(kind)
    layer = L.Layout().layer_of(item).name
    text = text_of(shown(state(item)), layer)
    assert values
    for value in values.values():
        for leaf in leaves(value):
            assert leaf in text
    assert "object" not in text
    assert tags(text)[0] == f"{layer}-{NONCE}"


@pytest.mark.seed("E12")
def test_every_field_of_the_seed_has_its_place() -> None:
    for layer in LAYERS:
        if layer.level > 2:
            assert {kind_of(kind) for kind in layer.items} == SEED[layer.name]
    assert SEED["system"] <= {field.name for field in msgspec.structs.fields(L.System)}
    assert SEED["task"] <= {field.name for field in msgspec.structs.fields(L.Task)}
    assert SEED["runtime"] - {"failures"} == {field.name for field in msgspec.structs.fields(L.Runtime)}
    assert state(L.Failure("red")).failures == (L.Failure("red"),)


@pytest.mark.seed("E9", "E12")
def test_the_system_part_shows_typed_records_in_words() -> None:
    system = L.System(
        role="an engineer",
        policies=["no secrets", L.SafetyRule("ask first", name="care")],
        constraints=[L.Constraint("two hours", name="time")],
        audit=L.Audit(record=("every write", "every deploy"), keep="one year"),
    )
    due = datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC)
    task = L.Task(
        goal="move the port", success=["tests pass", L.Criterion("it answers", check="curl")], output={"type": "object"}
    )
    sections = shown(state(system, msgspec.structs.replace(task, deadline=due, urgent=True))).sections
    text = "\n".join(each.text for each in sections)
    told = (
        "an engineer",
        "no secrets",
        'name="care">ask first',
        "two hours",
        "every write",
        "every deploy",
        "one year",
    )
    asked = ("move the port", "tests pass", 'check="curl">it answers', '{"type":"object"}', "2026-01-02T03:04:00+00:00")
    assert [each for each in (*told, *asked, "<urgent>") if each not in text] == []
    assert "object Object" not in text


@pytest.mark.seed("E12")
def test_runtime_shows_phase_environment_permissions_tools_and_failures() -> None:
    changes = [L.Entered(L.Phase.VERIFYING), L.Moved(L.Environment.STAGING), L.Granted("write"), L.Granted("gone")]
    held = state(*changes, L.Revoked("gone"), L.Failure("tests red"))
    text = text_of(shown(replace(held, tools=("read", "write"))), "runtime")
    assert tags(text)[1:] == ["phase", "environment", "permission", "tools", "failure"]
    assert "verifying" in text
    assert "staging" in text
    assert "<tools>read write</tools>" in text
    assert "gone" not in text


def test_what_is_not_set_says_nothing() -> None:
    assert text_of(shown(state(L.Fact("it rains"))), "semantic").count("source") == 0
    assert shown(state()).sections == ()
    assert text_of(shown(state(L.Fact("x"))), "runtime") == ""


@pytest.mark.parametrize("value", [0, False, None, "", [], {"a": [1, None]}, "text", 1.5])
def test_a_variable_shows_whatever_it_holds(value: Any) -> None:
    text = text_of(shown(state(L.Variable("v", value))), "short_term")
    assert 'name="v"' in text
    assert (value if isinstance(value, str) else msgspec.json.encode(value).decode()).replace('"', '"') in text


@pytest.mark.seed("E12")
def test_an_item_that_no_layer_declares_is_refused() -> None:
    class Stray(Item, frozen=True):
        text: str

    with pytest.raises(BadConfiguration, match=r"adding\(Layer"):
        L.Layout().layer_of(Stray("x"))


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(BadConfiguration, match="no JSON"):
        L.written(L.Variable("v", object()))


def test_a_deadline_without_a_zone_is_refused() -> None:
    with pytest.raises(BadConfiguration, match="time zone"):
        L.Task("go", deadline=datetime.datetime(2026, 1, 1))  # noqa: DTZ001  # that is the point


class Invoice(Item, frozen=True):
    """A layer of one's own takes this class …"""

    number: str
    amount: float
    text: str = ""

    known_by = "number"


def test_a_layer_of_ones_own_takes_one_class_and_one_registration() -> None:
    layout = L.Layout().adding(L.Layer("invoices", (Invoice,), share=5, priority=L.Priority.HIGH))  # … and this line
    held = state(Invoice("A-1", 99.5, "paper"), Invoice("A-1", 98.0), layout=layout)
    text = text_of(shown(held, layout=layout), "invoices")
    assert '<invoice id="2" number="A-1" amount="98.0"/>' in text
    assert sum(L.shares(layout.layers).values()) == 1
