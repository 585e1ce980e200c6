"""Layers hold their budget and their frames, whatever is noted. `python -m benchmarks layers` runs 10,000 states."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import contextfold as cf
from contextfold import layers as L
from contextfold import testing
from contextfold import toolbox as T
from contextfold.dialects import find
from contextfold.domain import Message, Text
from contextfold.tokens import counter_for
from tests.property.layer_states import MODELS, Extra, broken_frames, count_of, generated, item, rendered
from tests.unit.layers.hostile import NONCE

seeds = st.integers(0, 2**32)


@pytest.mark.seed("E13", "E16")
@settings(max_examples=60, deadline=None)
@given(seeds, st.sampled_from(MODELS))
def test_what_is_rendered_is_never_larger_than_its_budget(seed: int, model: str) -> None:
    layout, state, total = generated(Random(seed))
    showing = rendered(layout, state, total, model)
    counter = counter_for(model)
    if showing is not None:
        texts = [part.text for section in showing.sections for part in section.parts]
        shapes = [counter.shape(Message("user", (Text(text),))) for text in texts]
        counted = sum(counter.block_tokens(shape.blocks[0].measure) for shape in shapes)
        assert counted == showing.tokens <= total


@pytest.mark.seed("E8")
@settings(max_examples=60, deadline=None)
@given(seeds)
def test_no_text_breaks_a_frame(seed: int) -> None:
    layout, state, total = generated(Random(seed))
    showing = rendered(layout, state, total)
    assert showing is None or broken_frames(showing, state) == 0


@pytest.mark.seed("E13")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.01, 1_000), min_size=1, max_size=12), st.integers(0, 10**6), seeds)
def test_shares_sum_to_one_and_allotments_to_no_more_than_there_is(weights: list[float], total: int, seed: int) -> None:
    random = Random(seed)
    layers = [L.Layer(f"l{at}", (), weight, random.choice(list(L.Priority)[1:])) for at, weight in enumerate(weights)]
    assert sum(L.shares(layers).values()) == 1
    needs = {layer.name: random.randrange(10**5) for layer in layers}
    given_ = L.allotted(layers, needs, total)
    assert sum(given_.values()) <= total
    assert all(0 <= given_[name] <= need for name, need in needs.items())
    assert sum(given_.values()) == min(total, sum(needs.values())) or sum(needs.values()) > total


@pytest.mark.seed("E15", "E17", "E12")
@settings(max_examples=60, deadline=None)
@given(seeds)
def test_every_item_is_shown_in_order_or_left_out_with_a_reason_and_groups_stay_whole(seed: int) -> None:
    layout, state, total = generated(Random(seed))
    showing = rendered(layout, state, total)
    if showing is None:
        return
    for section in showing.sections:
        held = state.held.get(section.layer.name, ())
        order = {entry.seq: at for at, entry in enumerate(held)}
        shown = [each.seq for each in section.shown]
        assert [order[seq] for seq in shown] == sorted(order[seq] for seq in shown)
        assert sorted([*shown, *(left.seq for left in section.left_out)]) == sorted(order)
        groups: dict[str, set[bool]] = {}
        for entry in held:
            if entry.item.together:
                groups.setdefault(entry.item.together, set()).add(entry.seq in shown)
        assert all(len(found) == 1 for found in groups.values())


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_the_same_state_gives_the_same_bytes(seed: int) -> None:
    layout, state, total = generated(Random(seed))
    first, second = rendered(layout, state, total), rendered(layout, state, total)
    assert first == second
    again = generated(Random(seed))
    assert rendered(*again) == first or first is None


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_what_is_kept_from_turn_to_turn_changes_nothing(seed: int) -> None:
    """Notes come, are replaced and vanish; whoever has shown them all along shows what a newcomer would."""
    random = Random(seed)
    layout, _, total = generated(random)
    bodies: dict[int, bytes] = {}
    projected, shower = L.Projected(layout), L.Shower(layout, L.Renditions(count_of(MODELS[0]), NONCE))
    for seq in range(1, 25):
        if random.random() < 0.15:
            bodies = {at: body for at, body in bodies.items() if at < random.randrange(1, seq + 1)}
        bodies[seq] = L.written(item(random))
        state = projected.follow(list(bodies), bodies.get, lambda _: NONCE)
        fresh = rendered(layout, L.Projected(layout).follow(list(bodies), bodies.get, lambda _: NONCE), total)
        if fresh is not None:
            assert shower.show(state, total) == fresh


@pytest.mark.seed("E8", "E13", "E24")
@pytest.mark.parametrize(
    ("seed", "recipe", "model"),
    [
        (1, "sliding_window", "claude-sonnet-4-5"),
        (2, "balanced", "claude-sonnet-4-5"),
        (3, "duckflow", "gpt-4o"),
        (4, "claude_code", "gpt-4o"),
    ],
)
def test_a_long_session_with_layers_and_tools_stays_valid_and_fits(
    seed: int, recipe: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "12000")
    random = Random(seed)
    tools = [T.Tool(each["name"], side_effects=False) for each in testing.tools("anthropic")]
    dialect: Literal["anthropic", "openai-chat"] = "anthropic" if model.startswith("claude") else "openai-chat"
    made: list[cf.Request] = []
    with cf.Session.open(model=model, policy=getattr(cf.recipes, recipe)()) as session:
        session.define(layout=L.Layout().adding(L.Layer("extra", (Extra,), 5)))
        for said in testing.histories.session(seed, tokens=18_000, dialect=dialect):
            if said["role"] == "assistant":
                note_something(session, random)
                modes: tuple[T.Mode, ...] = ("stable", "projected")
                chosen = T.project(tools, session.state, mode=random.choice(modes))
                made.append(session.prepare(tools=chosen, max_tokens=1_000))
            session.append(said)
    assert any(request.report.folds for request in made)
    assert [request.report for request in made if request.report.after > request.report.usable] == []
    assert [problem for request in made for problem in find(request.dialect).check(request.body)] == []
    for before, after in pairwise(made):
        if not after.report.folds and _around(before) == _around(after):
            shown = before.body["messages"]
            assert after.body["messages"][: len(shown)] == shown


def note_something(session: cf.Session, random: Random) -> None:
    for _ in range(random.randrange(3)):
        with suppress(cf.NotFound, cf.CannotFit):  # a note that is not there, a role that would never fit
            session.note(item(random))


def _around(request: cf.Request) -> list[object]:
    body = request.body
    spoken = [message for message in body["messages"] if message["role"] == "system"]
    return [body.get("system"), body.get("tools"), spoken]
