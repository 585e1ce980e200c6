"""contextfold plugged into the retention harness beside the shared data, one session a run. Not a benchmark.

Used by the benchmarks of this package, and by the harness's own command:

    python run.py retention --plugin benchmarks/harness.py
    python run.py cost --plugin benchmarks/harness.py

Everything is as shipped: `balanced()`, no model. Tokens are o200k on the harness's side and the session's own estimate
on ours; the session learns the difference from the bills it is handed, as it would from a provider's.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import contextfold as cf
from contextfold.domain import INTERRUPTED, ViewItem
from contextfold.folding import Policy
from contextfold.tokens.encoders import encoder

ROOT = Path(__file__).parents[1]
PLACE = ROOT.parent / "shared" / "measure" / "retention"
UNCACHED = "sonnet-4-5, bills without a cache"  # full history is priced without one as well
MODELS = {"sonnet-4-5": "claude-sonnet-4-5", "opus-5-5": "claude-opus-5-5", UNCACHED: "claude-sonnet-4-5"}
COUNTED_ALIKE = "gpt-5"  # a model whose tokens are the harness's, so that sizes mean the same on both sides
ANSWER = 1_000


def is_here() -> bool:
    """Whether the harness and its data are beside the repository."""
    return (PLACE / "corpus.py").is_file() and (PLACE.parents[1] / "data" / "MANIFEST.json").is_file()


@cache
def part(name: str) -> Any:
    """A module of the harness, counting with our exact encoder."""
    if "corpus" not in sys.modules:
        sys.path.insert(0, str(PLACE))
    module = __import__(name)
    counted(__import__("tokens"))
    return module


def counted(tokens: Any) -> None:
    """The harness asks for a tokenizer that is not ours to install; the counts are the same."""
    if not tokens.NAME.startswith("o200k"):
        exact = encoder("o200k")
        assert exact is not None
        tokens.NAME, tokens.count = "o200k_base (contextfold)", exact.count


def half(name: str) -> int:
    """Which half of the runs: 0 was developed on, 1 was not."""
    return hashlib.sha256(name.encode()).digest()[0] & 1


def plain(message: dict[str, Any]) -> dict[str, Any]:
    """A message as it would have been sent: without the harness's notes, arguments as objects."""
    content = []
    for block in message["content"]:
        kept = {key: value for key, value in block.items() if not key.startswith("_")}
        if kept["type"] == "tool_use" and not isinstance(kept["input"], dict):
            kept["input"] = {"input": kept["input"]}
        if kept["type"] == "thinking":
            kept.setdefault("signature", "c2lnbmVk")
        content.append(kept)
    return {"role": message["role"], "content": content}


class Seat:
    """A session that a recorded run is played into, and its view in the harness's form."""

    def __init__(self, model: str, window: int, system: str | None = None, policy: Policy | None = None) -> None:
        os.environ["CONTEXTFOLD_MAX_INPUT_TOKENS"] = str(window)
        self.session = cf.Session.open(model=model, policy=policy, system=system)
        self.told: list[dict[str, Any]] = []
        self._message: dict[int, dict[str, Any]] = {}  # by seq

    def hear(self, messages: Sequence[dict[str, Any]], usage: dict[str, int] | None = None) -> None:
        """Append what is new of a run; `usage` is the bill of the answer among it."""
        for message in messages[len(self.told) :]:
            said = plain(message)
            if usage is not None and message["role"] == "assistant":
                said |= {"type": "message", "id": f"msg_{len(self.told)}", "model": "m", "usage": usage}
                usage = None
            self._message[self.session.append(said)] = message
            self.told.append(message)

    def blocks(self) -> list[tuple[str, Any, str]]:
        """What the model would see: ("block", the harness's block, ""), or (a name, None, a text of ours)."""
        out: list[tuple[str, Any, str]] = []
        view = self.session.view
        for place, item in enumerate(view.items):
            if item.kind == "message":
                out += self._shown(item)
            else:
                out.append((f"{item.kind} {item.seq}", None, view.messages[place].text))
        return out

    def _shown(self, item: ViewItem) -> list[tuple[str, Any, str]]:
        content = self._message[item.seq]["content"]
        texts = {edit.block: edit.text for edit in self.session.thread.lens.resolve(item).edits}
        shown: list[tuple[str, Any, str]] = []
        for number, block in enumerate(content):
            if number not in texts:
                shown.append(("block", block, ""))
            elif texts[number]:
                shown.append((f"cleared {item.seq} {number}", None, texts[number]))
        return shown

    def view(self) -> list[dict[str, Any]]:
        """The view as messages of the harness: originals by identity, the rest made anew."""
        corpus = part("corpus")
        out: list[dict[str, Any]] = []
        view = self.session.view
        for place, item in enumerate(view.items):
            if item.kind == "message" and not item.folded:
                out.append(self._message[item.seq])
            elif item.kind == "message":
                out.append(self._edited(item))
            elif item.kind == "completion":
                out.append(_completed(item))
            else:
                out.append(corpus.msg("user", corpus.text(view.messages[place].text)))
        return out

    def _edited(self, item: ViewItem) -> dict[str, Any]:
        source = self._message[item.seq]
        texts = {edit.block: edit.text for edit in self.session.thread.lens.resolve(item).edits}
        content = []
        for number, block in enumerate(source["content"]):
            if number not in texts:
                content.append(block)
            elif texts[number] and block["type"] == "tool_result":
                made = {key: value for key, value in block.items() if not key.startswith("_")}
                content.append({**made, "content": texts[number]})
            elif texts[number]:
                content.append({"type": "text", "text": texts[number]})
        return {"role": source["role"], "content": content, "meta": {}}

    def close(self) -> None:
        self.session.close()


def _completed(item: ViewItem) -> dict[str, Any]:
    """The results that a view puts where calls were interrupted."""
    block = {"type": "tool_result", "content": INTERRUPTED, "is_error": True}
    return {"role": "user", "content": [{**block, "tool_use_id": call} for call in item.shape.results], "meta": {}}


# -- money -------------------------------------------------------------------------------------------------------------


def replaying(price: str) -> Any:
    """A cost policy of the harness: a session at this model's prices, one for each run and window."""
    cost, literals = part("cost"), part("literals")
    tokens = part("tokens")
    cost.PRICES[UNCACHED] = {"inp": 3.0, "write": 3.0, "read": 3.0, "out": 15.0}

    class Contextfold(cost.Base):  # type: ignore[misc, name-defined]  # the harness has no types
        def __init__(self, ctx: Any, window: int, _price: Any) -> None:
            super().__init__(ctx, window, cost.PRICES[price])
            system = "rule " * max(1, int(ctx.tok[0] / ctx.scale) - 20)
            self.seat = Seat(MODELS[price], window + ANSWER, system)  # the harness keeps no room for an answer
            self.usage: dict[str, int] | None = None
            self.texts: dict[int, str] = {}  # words of ours, by block
            self.folds: list[Any] = []

        def decide(self, k: int) -> list[int]:
            c = self.ctx
            self.seat.hear(c.run.messages[: c.calls[k]], self.usage)
            report = self.seat.session.prepare(max_tokens=ANSWER).report
            self.compactions += len(report.folds) > 0
            self.folds += report.folds
            ids = self.ids()
            read = 0 if price == UNCACHED else c.size(ids[: cost.common(self.last, ids)])
            fresh = c.size(ids) if price == UNCACHED else 0
            self.usage = {
                "input_tokens": fresh,
                "cache_read_input_tokens": read,
                "cache_creation_input_tokens": c.size(ids) - read - fresh,
                "output_tokens": 1,
            }
            if k == len(c.calls) - 1:
                self.seat.close()
            return ids

        def ids(self) -> list[int]:
            c, out = self.ctx, [0]
            for name, block, text in self.seat.blocks():
                if block is not None:
                    out.append(c.block_id[id(block)])
                    continue
                made = c.new(("contextfold", price, id(self), name), round(tokens.count(text) * c.scale))
                self.texts[made] = text
                if c.blocks_of is not None and made not in c.summary_lits:
                    c.summary_lits[made] = literals.provides(text)
                out.append(made)
            return out

    return Contextfold


# -- the harness's own command -----------------------------------------------------------------------------------------

_SEATS: dict[tuple[int, str], Seat] = {}


def folded(messages: list[dict[str, Any]], budget: int, series: str) -> list[dict[str, Any]]:
    """The view after the session of this run and series was folded to the budget."""
    key = (id(messages[0]), series)
    seat = _SEATS.get(key)
    if seat is None or len(seat.told) > len(messages) or seat.told[0] is not messages[0]:
        for old in list(_SEATS):
            if old[0] != key[0]:
                _SEATS.pop(old).close()
        seat = _SEATS[key] = Seat(COUNTED_ALIKE, 1_000_000, policy=cf.recipes.balanced().with_(automatic=False))
    seat.hear(messages)
    around = seat.session.preview().used - seat.session.view.count.tokens
    seat.session.fold(to=budget + around)
    return seat.view()


def register() -> None:
    """Make contextfold known to the harness that is loading this file."""
    counted(sys.modules["tokens"])
    policies = sys.modules["policies"]
    cost = part("cost")
    for price in MODELS:
        cost.COST_POLICIES[f"contextfold-{price}"] = replaying(price)

    @policies.policy("contextfold")  # type: ignore[untyped-decorator]
    def fold(messages: Any, budget: int) -> Any:
        return folded(messages, budget, str(budget) if budget in (2_000, 8_000, 16_000, 25_000) else "real")

    @policies.policy("contextfold-2k")  # type: ignore[untyped-decorator]
    def fold_to_2000(messages: Any, _budget: int) -> Any:
        return folded(messages, 2_000, "2k")


if "policies" in sys.modules and hasattr(sys.modules["policies"], "POLICIES"):
    register()
