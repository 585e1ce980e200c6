"""How a gateway stands: what it counted, also as Prometheus reads it, and the conversations it worked on last.

Numbers and names, never words; what is counted holds not even names of conversations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from contextfold.errors import NotFound, StoreError
from contextfold.session import Session

_COUNTED = ("turns", "folds", "tokens_hidden", "retries", "cannot_fit", "unread", "turned_away")
_HELP = {
    "requests_total": ("counter", "Requests answered, by provider and status."),
    "turns_total": ("counter", "Turns of conversations that were kept, by client."),
    "folds_total": ("counter", "Folds made, by client."),
    "tokens_hidden_total": ("counter", "Tokens that folds kept out of requests when they were made, by client."),
    "recalls_total": ("counter", "Times that a model asked for what folds hide and was answered here, by client."),
    "retries_total": ("counter", "Requests sent again after the provider called them too long."),
    "cannot_fit_total": ("counter", "Requests that could not be made to fit."),
    "unread_total": ("counter", "Requests and answers that passed without being kept, by why."),
    "turned_away_total": ("counter", "Requests that were not let in, by status."),
    "under_way": ("gauge", "Requests being answered now."),
    "ready": ("gauge", "1 where every log in use committed a write just now, else 0."),
    "unkept_since_seconds": ("gauge", "Since when nothing is kept, in seconds since 1970; 0 while it is."),
    "unkept_requests": ("gauge", "Requests that passed without being kept, or were refused for it, since then."),
}
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counters by name and labels."""

    def __init__(self) -> None:
        self._values: Counter[tuple[str, Labels]] = Counter()

    def add(self, name: str, amount: int = 1, **labels: str) -> None:
        """Count something."""
        self._values[name, tuple(sorted(labels.items()))] += amount

    def put(self, name: str, value: int) -> None:
        """Say how something is now."""
        self._values[name, ()] = value

    def value(self, name: str, **labels: str) -> int:
        """What was counted so far."""
        return self._values[name, tuple(sorted(labels.items()))]

    def total(self, name: str) -> int:
        """What was counted so far, whatever its labels."""
        return sum(value for (counted, _), value in self._values.items() if counted == name)

    def text(self) -> str:
        """All of it, as Prometheus reads it."""
        lines: list[str] = []
        for name, (kind, told) in _HELP.items():
            lines += [f"# HELP contextfold_gateway_{name} {told}", f"# TYPE contextfold_gateway_{name} {kind}"]
            for (counted, labels), value in sorted(self._values.items()):
                if counted == name:
                    listed = ",".join(f'{label}="{said.translate(_ESCAPED)}"' for label, said in labels)
                    shown = f"{{{listed}}}" if listed else ""
                    lines.append(f"contextfold_gateway_{name}{shown} {value}")
        return "\n".join(lines) + "\n"


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


class Outage(Struct, frozen=True):
    """Nothing is kept: since when (seconds since 1970), how many requests passed or were refused, and why."""

    since: float
    requests: int
    why: str

    @property
    def began(self) -> str:
        """When it began, as people read it."""
        return datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")

    def joined(self, other: Outage) -> Outage:
        """Two of them as one: the earlier beginning, and why that was."""
        first, second = sorted((self, other), key=lambda each: each.since)
        return replace(first, requests=first.requests + second.requests)


class GatewayStatus(Struct, frozen=True):
    """All of it, as `contextfold top` reads it."""

    mode: str
    under_way: int
    counted: Mapping[str, int]
    conversations: Sequence[ConversationStatus] = ()
    is_closing: bool = False
    outage: Outage | None = None


def counted(metrics: Metrics) -> dict[str, int]:
    """What was counted since the gateway began, over all labels."""
    return {name: metrics.total(f"{name}_total") for name in _COUNTED}


def facts_of(error: BaseException) -> dict[str, str]:
    """What may be logged of an error: its kind, and its words where they are about a store and never of a message."""
    kind = {"error": type(error).__name__}
    return {**kind, "told": str(error)} if isinstance(error, StoreError | NotFound) else kind
