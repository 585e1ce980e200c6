"""The stand-ins the model reads and the notices people read, as functions of plain values.

Every stand-in says what is folded and how to recall it. A value never becomes part of a template, is put on one line,
and is cut where a hostile or clumsy one would run on; frames around longer texts cannot be closed from inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from .cuts import MARK, whole
from .frames import frame, neutral, nonce_of
from .language import Language
from .wording import ENGLISH, JAPANESE, Wording

Ranges: TypeAlias = Iterable[tuple[int, int]]
ClearedKind: TypeAlias = Literal["image", "document", "reasoning"]

EXCERPT = 200  # characters of a tool call's arguments in a placeholder
PREVIEW = 2_000  # characters of an offloaded output, both ends together
_SHOWN_RANGES = 12

_WORDINGS: dict[Language, Wording] = {"en": ENGLISH, "ja": JAPANESE}


def wording(language: Language) -> Wording:
    """The templates of one language."""
    return _WORDINGS[language]


def summary_text(body: str, *, fold: int, ranges: Ranges, language: Language, nonce: str = "") -> str:
    """A summary as the model sees it: on the user's side, framed as data, with the seqs it stands for."""
    words = wording(language)
    covers = covered(ranges)
    preface = words.summary.format(covers=covers, recall=words.recall_fold.format(fold=fold))
    nonce = nonce or nonce_of((body, covers))
    return f"{preface}\n{frame('folded', body, nonce, (('fold', str(fold)), ('covers', covers)))}"


def window_text(fold: int, ranges: Ranges, messages: int, language: Language) -> str:
    """The marker of messages hidden without a summary: which, how many, and the handle."""
    words = wording(language)
    recall = words.recall_fold.format(fold=fold)
    return words.window.format(messages=f"{messages:,}", covers=covered(ranges), recall=recall)


def pruned_notice(fold: int, ranges: Ranges, messages: int, language: Language) -> str:
    """One notice for all the small gaps of a prune: single ones would cost what they save."""
    words = wording(language)
    recall = words.recall_fold.format(fold=fold)
    return words.pruned.format(messages=f"{messages:,}", covers=covered(ranges), recall=recall)


def gap_text(body: str, *, fold: int, ranges: Ranges, messages: int, language: Language, nonce: str = "") -> str:
    """A gap between kept messages, in short."""
    words = wording(language)
    covers = covered(ranges)
    preface = words.gap.format(messages=f"{messages:,}", covers=covers, recall=words.recall_fold.format(fold=fold))
    return f"{preface}\n{frame('gap', body, nonce or nonce_of((body, covers)))}"


def emergency_header(language: Language) -> str:
    """What a digest says of itself when there was no time to ask a model."""
    return wording(language).emergency


def interrupted_text(language: Language) -> str:
    """What the model is told when it is asked to go on while calls of its own are open."""
    return wording(language).interrupted


def go_on_text(language: Language) -> str:
    """What stands behind the model's own last words, where a request may not end with them."""
    return wording(language).go_on


def cleared_text(tool: str, arguments_excerpt: str, seq: int, tokens: int, language: Language) -> str:
    """A tool result's placeholder: without the call's own words the model would only call again."""
    words = wording(language)
    return words.cleared_result.format(
        tool=_one_line(tool, 80),
        arguments=_one_line(arguments_excerpt, EXCERPT),
        tokens=f"{tokens:,}",
        recall=words.recall_seq.format(seq=seq),
    )


def cleared_block_text(kind: ClearedKind, seq: int, tokens: int, language: Language) -> str:
    """The placeholder of an image, a document or old reasoning."""
    words = wording(language)
    templates = {
        "image": words.cleared_image,
        "document": words.cleared_document,
        "reasoning": words.cleared_reasoning,
    }
    return templates[kind].format(tokens=f"{tokens:,}", recall=words.recall_seq.format(seq=seq))


def offload_text(
    head: str, tail: str, *, tokens: int, digest_name: str, seq: int, path: str | None, language: Language
) -> str:
    """A long output's two ends, where the rest is, and how to get it; without a `tail`, `head` is the whole."""
    words = wording(language)
    template = words.offload_file if path else words.offload
    label = template.format(
        path=_one_line(path or "", 400),
        name=_one_line(digest_name, 80),
        tokens=f"{tokens:,}",
        recall=words.recall_seq.format(seq=seq),
    )
    front, back, left_out = _ends(head, tail)
    mark = words.offload_gap.format(characters=f"{left_out:,}") if left_out else MARK
    nonce = nonce_of((head, tail))
    return "\n".join((label, frame("output", f"{front}\n{mark}\n{back}" if back else front, nonce)))


def fold_notice(kind: str, messages: int, before: int, after: int, language: Language) -> str:
    """One line for people."""
    notices = wording(language).notices
    template = notices.get(kind, notices["window"])
    return template.format(messages=f"{messages:,}", before=f"{before:,}", after=f"{after:,}")


def covered(ranges: Ranges) -> str:
    """Seqs as a reader writes them: `2-88, 90`; a very torn cover is closed by its last range."""
    spans: Sequence[tuple[int, int]] = list(ranges)
    if len(spans) > _SHOWN_RANGES:
        shown = [_span(*span) for span in spans[: _SHOWN_RANGES - 1]]
        return "seq " + ", ".join((*shown, MARK, _span(*spans[-1])))
    return "seq " + ", ".join(_span(*span) for span in spans) if spans else MARK


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _ends(head: str, tail: str) -> tuple[str, str, int]:
    """At most a preview's characters of the two ends, whole letters only, and how many were dropped here."""
    half = PREVIEW // 2
    if not tail:
        head, tail = (head, "") if len(head) <= PREVIEW else (head[: -len(head) // 2], head[-len(head) // 2 :])
    front = head if len(head) <= half or not tail else head[: whole(head, half)]
    back = tail if len(tail) <= half else tail[whole(tail, len(tail) - half) :]
    return front, back, len(head) - len(front) + len(tail) - len(back)


def _one_line(value: str, most: int) -> str:
    plain = neutral(" ".join("".join(c if c.isprintable() else " " for c in value[: 4 * most]).split()))
    return plain if len(plain) <= most else plain[: whole(plain, most - 1)] + MARK
