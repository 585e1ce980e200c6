"""Generated states of layers: any items, any texts, hostile ones among them, any budget."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from contextfold import layers as L
from contextfold.domain import Message, Text
from contextfold.errors import CannotFit
from contextfold.layers import Item, Layout, Showing, State
from contextfold.testing.nasty_blocks import text as nasty_text
from contextfold.tokens import counter_for
from tests.unit.layers.hostile import HOSTILE, NONCE, spellings, tags

MODELS = ("claude-sonnet-4-5", "gpt-4o", "gemini-2.5-pro")


class Extra(Item, frozen=True):
    """An item of a layer that is not ours."""

    text: str
    size: float = 1.0


def words(random: Random) -> str:
    if random.random() < 0.3:
        return random.choice(HOSTILE)
    return nasty_text(random) * random.choice((1, 1, 1, 3, 40))


def item(random: Random) -> Item:
    text, other = words(random), words(random)
    together = random.choice(("", "", "", "pair one", "pair two"))
    always = random.random() < 0.1
    kinds = (
        lambda: L.System(role=text, policies=[other, L.SafetyRule(text, name=other)], constraints=[text], audit=other),
        lambda: L.Task(goal=text, success=[other, L.Criterion(text, check=other)], output={text: other}),
        lambda: L.Granted(text),
        lambda: L.Entered(random.choice(list(L.Phase))),
        lambda: L.Moved(random.choice(list(L.Environment))),
        lambda: L.Failure(text, together=together, always=always),
        lambda: L.Variable(text[:40], {other: [1, None, text]}, always=always),
        lambda: L.RecentTurn(other[:20], text, together=together),
        lambda: L.Decision(text, why=other, always=always),
        lambda: L.Fact(text, source=random.choice((None, 7, other)), together=together, always=always),
        lambda: L.Definition(other[:40], text),
        lambda: L.Checklist(other[:40], (text, other, text), together=together),
        lambda: L.Observation(text, tool=other, together=together, always=always),
        lambda: L.Measurement(other[:40], random.random() * 1e9, text[:10]),
        lambda: L.Retrieved(text, source=other, relevance=random.choice((None, random.random()))),
        lambda: L.Step(text, status=random.choice(("open", "done")), together=together),
        lambda: L.Change(other[:60], text),
        lambda: L.Draft(text),
        lambda: Extra(text, random.random(), always=always),
        lambda: L.Retracted(random.randrange(1, 10)),
    )
    return random.choice(kinds)()


def generated(random: Random) -> tuple[Layout, State, int]:
    """A layout with a layer more, a state with up to thirty notes, and a budget from nothing to plenty."""
    extra = L.Layer("extra", (Extra,), random.choice((0.5, 5, 70)), random.choice(list(L.Priority)[1:]))
    layout = Layout(threshold=random.random(), drops_irrelevant=random.random() < 0.3).adding(extra)
    state = L.state_of([item(random) for _ in range(random.randrange(1, 30))], layout, NONCE)
    return layout, state, random.choice((0, 40, 150, 400, 1_000, 8_000, random.randrange(4_000)))


def count_of(model: str) -> Callable[[str], int]:
    counter = counter_for(model)

    def count(text: str) -> int:
        return counter.block_tokens(counter.shape(Message("user", (Text(text),))).blocks[0].measure)

    return count


def rendered(layout: Layout, state: State, total: int, model: str = MODELS[0]) -> Showing | None:
    """What is shown; None where what is critical does not fit."""
    try:
        return L.Shower(layout, L.Renditions(count_of(model), state.nonce)).show(state, total)
    except CannotFit:
        return None


def broken_frames(showing: Showing, state: State) -> int:
    """Sections whose structure is not that of their items, in any way somebody may read them."""
    broken = 0
    for section in showing.sections:
        frame = f"{section.layer.name}-{state.nonce}"
        for part in section.parts:
            for spelled in spellings(part.text):
                found = tags(spelled)
                broken += found[0] != frame or found.count(frame) != 1 or len(found) != len(tags(part.text))
                broken += spelled.count(state.nonce) != 2
    return broken
