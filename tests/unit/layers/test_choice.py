"""What is shown when there is not room for everything."""

import random
from collections.abc import Callable

import pytest

from contextfold import layers as L
from contextfold.layers import Item, Layout, Outcome
from tests.unit.layers.scene import count, seqs, shown, state, text_of


def words(number: int, size: int) -> str:
    return f"item {number} " + "word " * size


@pytest.mark.seed("E14")
def test_one_item_too_large_does_not_end_the_filling() -> None:
    held = state(*(L.Observation(words(1, 5)), L.Observation(words(2, 5_000)), L.Observation(words(3, 5))))
    assert {1, 3} <= set(seqs(shown(held, 600), "observations"))


@pytest.mark.seed("E14", "E16")
def test_what_was_passed_over_is_shown_in_a_shorter_form_and_counted_again() -> None:
    held = state(L.Observation(words(1, 5_000) + " THE END"), L.Observation("small"))
    showing = shown(held, 600)
    use = next(each for each in showing.uses() if each.layer == "observations")
    assert use.shortened == (1,)
    text = text_of(showing, "observations")
    assert "item 1" in text
    assert "THE END" in text
    assert "[…]" in text
    assert showing.tokens <= 600
    assert use.used == sum(count(part.text) for part in use.section.parts)


@pytest.mark.seed("E15")
def test_chosen_by_priority_and_shown_in_the_order_of_time() -> None:
    items = [L.Fact(words(1, 30), always=True), *(L.Fact(words(number, 30)) for number in range(2, 40))]
    found = seqs(shown(state(*items), 300), "semantic")
    assert found == sorted(found)
    assert found[0] == 1
    assert found[-1] == 39
    assert len(found) < 39


@pytest.mark.seed("E17")
def test_what_belongs_together_is_shown_together_or_not_at_all() -> None:
    items: list[Item] = []
    for number in range(30):
        items.append(L.Observation(words(number, 20), tool="call", together=f"pair {number}"))
        items.append(L.Observation(words(number, 60), tool="result", together=f"pair {number}"))
    found = seqs(shown(state(*items), 700), "observations")
    assert found
    assert len(found) < 60
    assert all((seq + 1 if seq % 2 else seq - 1) in found for seq in found)


@pytest.mark.seed("E16")
def test_every_item_is_shown_or_has_a_reason() -> None:
    layout = Layout(drops_irrelevant=True)
    held = state(
        L.Task(goal="migrate the database port"),
        L.Fact("the database port is 8443"),
        L.Fact("cats like boxes"),
        *(L.Fact(f"the database port of host {number} is {number} " + "filler " * 20) for number in range(100)),
        L.Checklist("huge checklist for the database port", tuple("point " * 10 for _ in range(300))),
        layout=layout,
    )
    showing = shown(held, 1_000, layout)
    reasons = {left.seq: left.reason for section in showing.sections for left in section.left_out}
    told = {seq for use in showing.uses() for seq in use.shown} | set(reasons)
    assert told == {entry.seq for entry in held.entries}
    assert reasons[3] == "not relevant"
    assert reasons[104] == "too large"
    assert "no room" in reasons.values()


@pytest.mark.seed("E11")
def test_older_evidence_weighs_less_by_order_and_nothing_depends_on_a_clock() -> None:
    items = [L.Observation(words(number, 30)) for number in range(50)]
    found = seqs(shown(state(*items), 800), "observations")
    assert found == list(range(50 - len(found) + 1, 51))
    assert text_of(shown(state(*items), 800), "observations") == text_of(shown(state(*items), 800), "observations")


RELEVANT: dict[str, Callable[[str, int], Item]] = {
    "episodic": lambda text, _: L.Summary(text),
    "semantic": lambda text, number: L.Definition(f"term {number}", text),
    "procedural": lambda text, number: L.Skill(f"skill {number}", text),
    "retrieved": lambda text, _: L.Retrieved(text),
}


@pytest.mark.seed("E10")
@pytest.mark.parametrize("layer", RELEVANT)
def test_relevance_reads_the_words_of_every_type(layer: str) -> None:
    others = (RELEVANT[layer](f"about gardening number {number} " * 5, number) for number in range(40))
    held = state(L.Task(goal="rotate the signing keys"), RELEVANT[layer]("rotate signing keys", 99), *others)
    assert 2 in seqs(shown(held, 400), layer)


def test_what_matters_little_is_shown_where_there_is_room_and_left_out_where_told() -> None:
    items = [L.Task(goal="fix the login page"), L.Fact("the port is 8443")]
    assert "8443" in text_of(shown(state(*items)), "semantic")
    strict = Layout(drops_irrelevant=True)
    showing = shown(state(*items, L.Fact("the port is 22", always=True), layout=strict), layout=strict)
    assert "8443" not in text_of(showing, "semantic")
    assert "22" in text_of(showing, "semantic")


def test_what_matters_little_never_takes_room_that_is_not_its_own() -> None:
    unrelated = [L.Fact(words(number, 40)) for number in range(100)]
    wanted = [L.Decision(f"login page decision {number} " + "login page " * 20) for number in range(20)]
    showing = shown(state(L.Task(goal="login page"), *unrelated, *wanted), 2_000)
    assert len(seqs(showing, "episodic")) == 20
    assert 0 < len(seqs(showing, "semantic")) < 100


def test_a_passage_keeps_the_relevance_its_search_gave_it() -> None:
    layout = Layout(drops_irrelevant=True)
    held = state(
        L.Task(goal="x y z"),
        L.Retrieved("nothing alike", relevance=0.9),
        L.Retrieved("same", relevance=0.1),
        layout=layout,
    )
    assert seqs(shown(held, layout=layout), "retrieved") == [2]


def test_the_sum_of_all_sections_is_counted_and_within_the_budget() -> None:
    random_ = random.Random(7)
    items = [L.Fact(words(n, random_.randrange(60))) for n in range(100)] + [L.Step(words(n, 4)) for n in range(100)]
    for total in (150, 400, 1_000, 5_000):
        showing = shown(state(*items), total)
        parts = [part for section in showing.sections for part in section.parts]
        assert sum(count(part.text) for part in parts) == showing.tokens <= total


def test_without_any_room_nothing_is_shown_and_all_is_told() -> None:
    showing = shown(state(L.Entered(L.Phase.EXECUTING), L.Fact("x"), L.Step("y")), 10)
    assert showing.tokens == 0
    assert len([left for section in showing.sections for left in section.left_out]) == 2


def test_outcomes_are_typed() -> None:
    outcomes = {
        each.outcome
        for section in shown(state(L.Observation(words(1, 9_000)), L.Fact("x")), 600).sections
        for each in section.shown
    }
    assert outcomes == {Outcome.FITTED, Outcome.SHORTENED}


@pytest.mark.finding("H9")
@pytest.mark.parametrize(("uncuttable", "is_cut"), [(2, True), (3, False)])
def test_three_items_at_most_are_tried_in_a_shorter_form(uncuttable: int, is_cut: bool) -> None:
    """A checklist has no text to cut; what comes behind three of them is not looked at any more."""
    lists = [L.Checklist(f"list {number}", tuple("point " * 10 for _ in range(300))) for number in range(uncuttable)]
    use = next(
        each
        for each in shown(state(L.Skill("long", words(1, 5_000)), *lists), 600).uses()
        if each.layer == "procedural"
    )
    assert bool(use.shortened) is is_cut


@pytest.mark.finding("H9")
def test_an_item_is_cut_to_48_tokens_at_least() -> None:
    held = state(L.Observation(words(1, 5_000)))
    sections = [section for total in range(60, 120) for section in shown(held, total).sections]
    sizes = [each.tokens for section in sections for each in section.shown]
    assert min(sizes) == 47  # what 48 have room for
