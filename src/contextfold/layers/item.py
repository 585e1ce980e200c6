"""An item of a layer: a small immutable fact with fields, written down as one note.

What a field holds is what the model reads, so rendering needs no second description of a type (see `elements`). An item
knows nothing of its place, its size or who selects it.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

# Fields that tell the selection something and the model nothing.
DIRECTIONS = ("together", "always")


class Item(Struct, frozen=True, kw_only=True, omit_defaults=True, tag=str.lower, tag_field="kind"):
    """What every item has beside its own fields. A layer of one's own begins with a subclass of this."""

    together: str = ""  # items that name the same thing here stand or fall together
    always: bool = False  # comes before all others, whatever its relevance

    body: ClassVar[str] = "text"  # the field that stands between the tags; the others are attributes and elements
    known_by: ClassVar[str] = ""  # the field by which a newer item takes an older one's place; "" where none does
    single: ClassVar[bool] = False  # whether there is only one of its kind at a time

    @property
    def weight(self) -> float:
        """How much it counts beside others of its layer, from 0 to 1."""
        return 1.0

    @property
    def told_relevance(self) -> float | None:
        """How much it matters to the task, where whoever found it said so; else it is told by its words."""
        return None


def kind_of(item: Item | type[Item]) -> str:
    """The name under which items of this class are written down and shown."""
    return str(item.__struct_config__.tag)


def identity_of(item: Item) -> tuple[str, str] | None:
    """What a newer item replaces an older one by; None where each stands for itself."""
    if item.single:
        return kind_of(item), ""
    return (kind_of(item), str(getattr(item, item.known_by))) if item.known_by else None
