"""Numbers about what passed, in the text format that Prometheus reads. Holds no names of conversations and no words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

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
}
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counters by name and labels."""

    def __init__(self) -> None:
        self._values: Counter[tuple[str, Labels]] = Counter()

    def add(self, name: str, amount: int = 1, **labels: str) -> None:
        """Count something."""
        self._values[name, tuple(sorted(labels.items()))] += amount

    def value(self, name: str, **labels: str) -> int:
        """What was counted so far."""
        return self._values[name, tuple(sorted(labels.items()))]

    def total(self, name: str) -> int:
        """What was counted so far, whatever its labels."""
        return sum(value for (counted, _), value in self._values.items() if counted == name)

    def text(self) -> str:
        """All of it, as Prometheus reads it."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        for name, (kind, told) in _HELP.items():
            yield f"# HELP contextfold_gateway_{name} {told}"
            yield f"# TYPE contextfold_gateway_{name} {kind}"
            for (counted, labels), value in sorted(self._values.items()):
                if counted == name:
                    listed = ",".join(f'{label}="{_escaped(said)}"' for label, said in labels)
                    yield (
                        f"contextfold_gateway_{name}{{{listed}}} {value}"
                        if listed
                        else f"contextfold_gateway_{name} {value}"
                    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
