"""How a gateway stands: what it counted, and the conversations it worked on last. Numbers and names, never words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from contextfold.session import Session

from .metrics import Metrics

_COUNTED = ("turns", "folds", "tokens_hidden", "retries", "cannot_fit", "unread", "turned_away")


class ConversationStatus(Struct, frozen=True):
    """One conversation as its gateway sees it now."""

    name: str
    model: str
    messages: int
    folds: int
    tokens: int  # of what goes out now
    window: int
    hidden: int  # tokens that folds keep out of it
    spent: float
    saved: float  # the share of full history's cost
    unit: str
    at: float  # when it was last spoken in

    @classmethod
    def of(cls, session: Session) -> ConversationStatus:
        """How the conversation of a session stands now."""
        stats, events = session.stats, session.thread.branch.events
        return cls(
            session.thread.name,
            session.model.name,
            stats.messages,
            stats.folds,
            stats.tokens + stats.beside,
            session.model.window,
            stats.hidden,
            stats.paid.total or stats.spent,
            stats.saved,
            stats.unit,
            events[-1].at if events else 0.0,
        )


class GatewayStatus(Struct, frozen=True):
    """All of it, as `contextfold top` reads it."""

    mode: str
    under_way: int
    counted: Mapping[str, int]
    conversations: Sequence[ConversationStatus] = ()
    is_closing: bool = False


def counted(metrics: Metrics) -> dict[str, int]:
    """What was counted since the gateway began, over all labels."""
    return {name: metrics.total(f"{name}_total") for name in _COUNTED}
