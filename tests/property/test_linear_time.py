"""No text hangs a pattern: every compiled pattern and every scanner of ours takes time in proportion to its text."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

import contextfold
from contextfold.cli.checks import keys_in
from contextfold.deferred import DeferredPattern
from contextfold.dialects.assembly import partial
from contextfold.domain import Message, Text, ToolCall, is_typed, touches_of
from contextfold.replay.notes import literals_in, phrases_in, sentences_in, without_gutters
from contextfold.summaries import SourceMessage, SummaryRequest, check, digest, guarded, language_of
from contextfold.summaries.earlier import entries
from contextfold.summaries.lines import split, terms_in
from contextfold.summaries.sayings import sentences
from tests.effort import least, walk

ADAPTERS = {
    f"contextfold.{name}"
    for name in ("adk", "agent_framework", "langchain", "litellm", "openai_agents", "openhands", "pydantic_ai")
}
GLANCE, SHORT = 500, 2_000
# A busy machine slows the longer text as it likes: eight times the length forgive half as much again at the exponent
# below, 32 times forgive twice as much. Each with how often it is tried.
LONGER = ((16_000, 1), (16_000, 3), (64_000, 1), (64_000, 3))
EXPONENT = 1.2
UNSUSPICIOUS = (
    120e-9  # seconds a character: a pattern that tries again at each letter takes longer on a short text already
)
SIGNS = "aZ_0-./\\ \n<>[{\"'`~:=日。"
PIECES = (*SIGNS, *("".join(pair) for pair in itertools.permutations("aZ_0-./\\ \n<[`~日", 2)))
LOOKS = (
    "function(a){return a.b+c[d]};var e=1,",  # minified
    "aGVsbG8gd29ybGQK/+0=",  # base64
    "2026-01-01T00:00:00Z INFO a.b.c[12]: GET /a/b?c=d 200 -\n",  # a log
    '{"a":"b\\"c","d":[1,{}]},',
    "<system-reminder>",
    "<folded-ab>\n",
    "[task 1",
    "eyJ-",
    "a/~/",
    "exit code ",
)


def patterns() -> dict[re.Pattern[str] | re.Pattern[bytes], str]:
    """Every compiled pattern that a module of ours holds, with its name."""
    found: dict[re.Pattern[str] | re.Pattern[bytes], str] = {}

    def look(name: str, value: object, depth: int = 0) -> None:
        if isinstance(value, DeferredPattern):
            look(name, value.compiled())
        elif isinstance(value, re.Pattern):
            found.setdefault(value, name)
        elif isinstance(value, type) and depth < 2 and value.__module__.startswith("contextfold"):
            for key, inner in vars(value).items():
                look(f"{name}.{key}", inner, depth + 1)
        elif isinstance(value, (tuple, list, set, frozenset, dict)) and depth < 4:
            for inner in value.values() if isinstance(value, dict) else value:
                look(f"{name}[]", inner, depth + 1)

    for module in pkgutil.walk_packages(contextfold.__path__, "contextfold."):
        if not module.name.endswith("__main__"):
            for key, value in list(vars(_imported(module.name)).items()):
                look(f"{module.name}.{key}", value)
    return found


def _imported(name: str) -> ModuleType:
    """A module, or nothing of an adapter whose framework is not installed here: it has no pattern of its own."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if name not in ADAPTERS or (error.name or "").startswith("contextfold"):
            raise
        assert "re.compile" not in Path(contextfold.__path__[0], f"{name.split('.')[-1]}.py").read_text(
            encoding="utf-8"
        )
        return ModuleType(name)


def hostile(source: str) -> Iterator[str]:
    """Pieces to repeat: signs, their pairs, what machines write, and the pattern's own words."""
    yield from PIECES
    yield from LOOKS
    words = sorted(set(re.findall(r"[A-Za-z<>/_#*` -]{2,}", source)), key=len)[-12:]
    for word in words:
        yield from (word, f"{word}a", f"{word} ", f"{word}-")


def spent(work: Callable[[str], object], piece: str, size: int, tries: int = 1) -> float:
    text = piece * (size // len(piece) + 1)
    return least(lambda: work(text), tries)


def grows_too_fast(work: Callable[[str], object], piece: str, *, unsuspicious: float) -> bool:
    if spent(work, piece, SHORT) < unsuspicious * SHORT:
        return False
    return all(
        spent(work, piece, longer, tries)
        > (longer / SHORT) ** EXPONENT * max(spent(work, piece, SHORT, tries), unsuspicious * SHORT / 4)
        for longer, tries in LONGER
    )


def is_suspicious(work: Callable[[str], object], piece: str) -> bool:
    """What a glance at a short text says of a pattern, whose cost has no fixed part: most go no further."""
    if spent(work, piece, GLANCE) < UNSUSPICIOUS * GLANCE:
        return False
    allowed: float = (SHORT / GLANCE) ** EXPONENT
    return spent(work, piece, SHORT) > allowed * spent(work, piece, GLANCE, 3)


def runs(pattern: re.Pattern[str] | re.Pattern[bytes]) -> Callable[[str], object]:
    def run(text: str) -> None:
        whole = text.encode() if isinstance(pattern.pattern, bytes) else text
        for _ in pattern.finditer(whole):  # type: ignore[arg-type]
            pass
        pattern.fullmatch(whole)  # type: ignore[arg-type]

    return run


@pytest.mark.finding("K2")
@pytest.mark.finding("P4")
def test_no_pattern_takes_longer_than_its_text_grows() -> None:
    found = patterns()
    slow = {
        name: piece
        for pattern, name in found.items()
        for piece in hostile(str(pattern.pattern))
        if is_suspicious(runs(pattern), piece) and grows_too_fast(runs(pattern), piece, unsuspicious=UNSUSPICIOUS)
    }
    assert len(found) > 100
    assert slow == {}


def test_a_pattern_that_tries_again_at_each_letter_is_found() -> None:
    again = runs(re.compile(r"a+b"))
    assert is_suspicious(again, "a")
    assert grows_too_fast(again, "a", unsuspicious=UNSUSPICIOUS)
    assert not grows_too_fast(runs(re.compile(r"[a-z]")), "a", unsuspicious=0)


def _digest(text: str) -> str:
    sources = (SourceMessage(1, Message("user", (Text(text),))), SourceMessage(2, Message("assistant", (Text(text),))))
    return digest(SummaryRequest(sources, budget=400), len)


SCANNERS: dict[str, Callable[[str], object]] = {
    "check": lambda text: check(text, SummaryRequest(()), len, before=10**9),
    "digest": _digest,
    "entries": lambda text: list(entries(text)),
    "guarded": lambda text: guarded(text, "0123456789ab"),
    "is_typed": is_typed,
    "keys_in": lambda text: list(keys_in(text)),
    "language_of": lambda text: language_of([text]),
    "literals_in": lambda text: literals_in(without_gutters(text)),
    "phrases_in": phrases_in,
    "sentences": sentences,
    "sentences_in": lambda text: sentences_in(text, (0, 0)),
    "split": lambda text: list(split(text)),
    "terms_in": terms_in,
    "touches_of": lambda text: touches_of(ToolCall("1", "run", text)),
}
FEW = (*SIGNS, *LOOKS, "a.", "1.", "a/", "/~", "- ", "a-", "``", "a`", ". ", "0a", "日-", "_a", "<a", '"\\')


@pytest.mark.finding("K2")
@pytest.mark.parametrize("name", SCANNERS)
def test_no_scanner_takes_longer_than_its_text_grows(name: str) -> None:
    assert [piece for piece in FEW if grows_too_fast(SCANNERS[name], piece, unsuspicious=3 * UNSUSPICIOUS)] == []


@pytest.mark.finding("K2")
@pytest.mark.parametrize("opening", ['{"a": "', '["', '{"a": ["', "[1, "])
def test_json_that_was_cut_off_is_read_in_time(opening: str) -> None:
    assert [p for p in FEW if grows_too_fast(lambda text: _read(opening + text), p, unsuspicious=UNSUSPICIOUS)] == []


def _read(text: str) -> None:
    with contextlib.suppress(contextfold.ContextFoldError):
        partial(text)


MEGABYTE = 1_000_000
MOST_WALKS = 300  # a second and a half to five, as machines go; ten times that was found, and mended


@pytest.mark.finding("K2")
@pytest.mark.finding("P4")
@pytest.mark.parametrize("piece", ["a", "-", "1.", "日", "a/", LOOKS[0], LOOKS[1]])
def test_a_megabyte_of_anything_passes_every_verb_in_time(piece: str, tmp_path: Path) -> None:
    text = piece * (MEGABYTE // len(piece))
    call = {"type": "tool_use", "id": "a", "name": "run", "input": {"command": text}}
    body = {"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": [call]}]}
    log = tmp_path / "session.json"
    log.write_bytes(msgspec.json.encode(body["messages"][:1]))
    took: dict[str, float] = {}

    def verb(name: str, work: Callable[[], object]) -> None:
        def attempt() -> None:
            with contextlib.suppress(contextfold.ContextFoldError):  # what cannot fit says so, in time
                work()

        took[name] = least(attempt)

    with contextfold.Session.open(":memory:", thread="t", model="claude-sonnet-5-5") as session:
        verb("append", lambda: session.append({"role": "user", "content": text}))
        verb("append an answer", lambda: session.append({"role": "assistant", "content": f"ok {text}"}))
        verb("append a short one", lambda: session.append({"role": "user", "content": "ok"}))
        verb("prepare", lambda: session.prepare(max_tokens=1_000))
        verb("fold", lambda: session.fold(to=8_000))
    with contextfold.open(":memory:") as store:
        verb("import", lambda: store.import_(log))
        verb("recall", lambda: store.recall(text))
    verb("validate", lambda: contextfold.validate(body))
    verb("repair", lambda: contextfold.repair(body))
    verb("digest", lambda: _digest(text))
    verb("look up a model", lambda: contextfold.model(text))
    most = MOST_WALKS * walk()
    assert {name: seconds for name, seconds in took.items() if seconds > most} == {}
