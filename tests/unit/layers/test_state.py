"""A state follows from its notes, whatever happened to them."""

import pytest

from contextfold import layers as L
from contextfold.layers import Layout, Projected, written
from tests.unit.layers.scene import state


def follow(projected: Projected, bodies: dict[int, bytes]) -> L.State:
    return projected.follow(list(bodies), bodies.get, lambda _: "n")


def test_a_newer_item_takes_the_place_of_the_one_it_is_known_by() -> None:
    held = state(L.Step("one"), L.Step("two"), L.Step("one", status="done"), L.Draft("a"), L.Draft("b"), L.Fact("x"))
    assert held.of(L.Step) == (L.Step("one", status="done"), L.Step("two"))
    assert held.of(L.Draft) == (L.Draft("b"),)


def test_a_note_that_was_taken_back_is_gone() -> None:
    held = state(L.Fact("x"), L.Fact("y"), L.Retracted(note=1), L.Retracted(note=99))
    assert held.of(L.Fact) == (L.Fact("y"),)


def test_permissions_come_and_go_exactly() -> None:
    held = state(L.Granted("write"), L.Granted("deploy"), L.Revoked("deploy"), L.Revoked("deplo"), L.Granted("write"))
    assert held.permissions == {"write"}


def test_nothing_is_allowed_or_known_before_somebody_says_so() -> None:
    assert state().permissions == frozenset()
    assert state().phase is L.Phase.PLANNING
    assert state().environment is L.Environment.UNKNOWN
    assert not state().is_urgent
    assert state().deadline is None


def test_notes_that_vanished_leave_the_state_and_others_come_back() -> None:
    bodies = {seq: written(L.Fact(f"fact {seq}")) for seq in range(1, 6)}
    projected = Projected(Layout())
    assert len(follow(projected, bodies).entries) == 5
    first = {seq: bodies[seq] for seq in (1, 2)}
    assert len(follow(projected, first).entries) == 2
    elsewhere = {**first, 9: written(L.Fact("another branch"))}
    assert [entry.seq for entry in follow(projected, elsewhere).entries] == [1, 2, 9]
    assert follow(projected, bodies) == follow(Projected(Layout()), bodies)


def test_an_unchanged_layer_keeps_its_very_tuple() -> None:
    bodies = {1: written(L.Fact("x")), 2: written(L.Step("y"))}
    projected = Projected(Layout())
    before = follow(projected, bodies)
    after = follow(projected, {**bodies, 3: written(L.Step("z"))})
    assert after.held["semantic"] is before.held["semantic"]
    assert after.held["work"] != before.held["work"]


def test_an_item_never_changes_its_page() -> None:
    bodies = {seq: written(L.Observation(f"{seq} " + "word " * 60)) for seq in range(1, 40)}
    projected, pages = Projected(Layout()), dict[int, int]()
    for last in range(1, 40):
        state = follow(projected, {seq: bodies[seq] for seq in range(1, last + 1)})
        found = {entry.seq: entry.page for entry in state.entries}
        assert {seq: found[seq] for seq in pages} == pages
        pages = found
    assert list(pages.values()) == sorted(pages.values())
    assert 3 < max(pages.values()) < 10
    without = follow(projected, {**bodies, 99: written(L.Retracted(5))})
    assert {entry.seq: entry.page for entry in without.entries} == {seq: at for seq, at in pages.items() if seq != 5}
    assert {
        entry.page for entry in follow(Projected(Layout()), {1: written(L.Step("a" * 9_000)), 2: bodies[2]}).entries
    } == {0}


@pytest.mark.parametrize("body", [b'{"kind":"unheard of"}', b'{"kind":"fact"}', b"[]", None])
def test_a_note_that_cannot_be_read_is_named_and_harms_nothing(body: bytes | None) -> None:
    bodies = {1: written(L.Fact("x")), 2: body}
    held = Projected(Layout()).follow([1, 2], bodies.get, lambda _: "n")
    assert held.unread == (2,)
    assert len(held.entries) == 1


def test_an_item_comes_back_from_its_note_as_it_was() -> None:
    lone = L.Observation("a lone \ud83d surrogate and \x00", tool="bash")
    assert state(lone).of(L.Observation)[0].text.startswith("a lone")
    task = L.Task("go", success=[L.Criterion("a", check="b")], output={"type": "object"}, urgent=True)
    assert state(task).task == task
    assert state(task).is_urgent
