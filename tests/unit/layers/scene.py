"""States made from items, and a way to show them without a session."""

from contextfold import layers as L
from contextfold.domain import Message, Text
from contextfold.layers import Item, Layout, Showing, State
from contextfold.tokens import counter_for
from tests.unit.layers.hostile import NONCE

COUNTER = counter_for("claude-sonnet-4-5")


def count(text: str) -> int:
    return COUNTER.block_tokens(COUNTER.shape(Message("user", (Text(text),))).blocks[0].measure)


def state(*items: Item, layout: Layout | None = None) -> State:
    return L.state_of(items, layout, NONCE)


def shown(held: State, total: int = 8_000, layout: Layout | None = None) -> Showing:
    return L.Shower(layout or Layout(), L.Renditions(count, held.nonce)).show(held, total)


def text_of(showing: Showing, layer: str) -> str:
    return next((each.text for each in showing.sections if each.layer.name == layer), "")


def seqs(showing: Showing, layer: str) -> list[int]:
    return [each.seq for section in showing.sections if section.layer.name == layer for each in section.shown]
