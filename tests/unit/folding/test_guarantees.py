"""What every strategy keeps on histories that nobody would have written by hand, one fold after another."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfold.domain import is_person
from contextfold.folding import Plan, Strategy
from contextfold.folding.outputs import Clear, Offload
from contextfold.folding.prune import Prune
from contextfold.folding.summary import Condense
from contextfold.folding.window import Window
from contextfold.models import Model
from contextfold.testing import nasty
from contextfold.testing.wire import WireMessage
from tests.unit.folding.scene import Scene

STRATEGIES: list[Strategy] = [
    Window(),
    Window(fraction=0.5, keep_first=False),
    Window(whole_turns=True, keep_last=3),
    Clear(keep_tokens=0, keep_results=0, least_tokens=1, least_saving=0, keep_errors=False, exempt=frozenset()),
    Clear(keep_tokens=50, keep_results=1, least_tokens=5, least_saving=0),
    Offload(over=50, preview=200),
    Condense(tail=100, keep_instructions=50, budget=200),
    Condense(tail=0, keep_first=False, keep_instructions=0, budget=200),
    Condense(keep_last=3, budget=200),
    Prune(budget=100, gap=2),
    Prune(tail=0.0, budget=100),
]
MODELS = [Model("free"), Model("bound", binding="prefix"), Model("echo", binding="echo")]

asking = st.fixed_dictionaries(
    {
        "strategy": st.sampled_from(STRATEGIES),
        "goal": st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]),
        "is_forced": st.booleans(),
        "trigger": st.sampled_from(["percent", "explicit", "images", "ladder-80", "ladder-90", "ladder-100"]),
        "model": st.sampled_from(MODELS),
        "window": st.sampled_from([300, 2_000, 100_000]),
    }
)
stretches = st.lists(st.tuples(nasty.histories(max_length=14), asking, st.integers(0, 40)), min_size=1, max_size=3)


def tell(scene: Scene, messages: list[WireMessage]) -> None:
    scene.seqs += [scene.thread.append(message) for message in messages]


def must_show(scene: Scene) -> set[int]:
    """Seqs that no strategy may take: the live request, pins, what the system says, the newest message."""
    items = scene.view.items
    people = [item.seq for item in items if is_person(item)]
    systems = [item.seq for item in items if item.kind == "message" and item.shape.role == "system"]
    newest = [item.seq for item in items if item.kind == "message" and not item.shape.is_blank][-1:]
    return {*people[-1:], *systems, *newest, *scene.view.pinned}


def asked(scene: Scene, asking: dict[str, object]) -> Plan:
    changes = {name: value for name, value in asking.items() if name not in ("strategy", "goal")}
    return scene.plan(asking["strategy"], asking["goal"], **changes)  # type: ignore[arg-type]  # drawn together


@settings(max_examples=60)
@given(stretches)
def test_every_planned_fold_is_legal_valid_and_can_be_taken_back(
    story: list[tuple[list[WireMessage], dict[str, object], int]],
) -> None:
    scene = Scene([])
    for messages, asking, pinned in story:
        tell(scene, messages)
        if pinned < len(scene.seqs):
            scene.thread.pin(scene.seqs[pinned])
        before, staying = scene.texts, must_show(scene)
        problems = {problem.rule for problem in scene.problems()}
        plan = asked(scene, asking)
        made = scene.carry_out(plan, "A summary of what was said.")
        assert bool(made) == (plan.refusal is None)
        assert staying <= {item.seq for item in scene.view.items}
        assert {problem.rule for problem in scene.problems()} <= problems
        kept = scene.texts
        for fold in reversed(made):
            scene.thread.unfold(fold)
        assert scene.texts == before
        for _ in made:
            scene.thread.rewind(before=scene.view.head)
        assert scene.texts == kept


@settings(max_examples=60)
@given(nasty.histories(max_length=20), asking)
def test_the_same_view_gives_the_same_words(messages: list[WireMessage], asking: dict[str, object]) -> None:
    first, second = (asked(Scene(messages), asking) for _ in range(2))
    assert first.refusal is second.refusal
    for one, other in zip(first.folds, second.folds, strict=True):
        assert (one.seqs, one.folds, one.blocks, one.details) == (other.seqs, other.folds, other.blocks, other.details)
        assert one.words(7, "S") == other.words(7, "S")


@pytest.mark.seed("R1", "R6", "R8", "D3")
@pytest.mark.peer("B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "B9", "B10")
@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
@settings(max_examples=60)
@given(st.data())
def test_no_strategy_makes_a_request_invalid_at_any_size(dialect: str, data: st.DataObject) -> None:
    messages = data.draw(nasty.histories(max_length=24, dialect=dialect))  # type: ignore[arg-type]  # a literal
    scene = Scene(messages, model="claude-sonnet-4-5" if dialect == "anthropic" else "gpt-4o")
    before = {problem.rule for problem in scene.problems(dialect)}
    asking_now = data.draw(asking)
    scene.carry_out(asked(scene, asking_now), "A summary of what was said.")
    assert {problem.rule for problem in scene.problems(dialect)} <= before
