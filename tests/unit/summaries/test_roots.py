"""The directory most files lie in is said once, and every path can be told in full again."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextfold.domain import Message, Text, ToolCall, ToolResult
from contextfold.summaries import SourceMessage, SummaryRequest
from contextfold.summaries.earlier import entries, restored
from contextfold.summaries.extractive import digest
from contextfold.summaries.roots import KEPT, common_root, is_below, shortened

HOME = "/srv/ada/work/engine"
DEEP = [f"{HOME}/src/engine/parts/cards/{name}.py" for name in ("reader", "writer", "store")]


def count(text: str) -> int:
    return len(text.encode()) // 4 + 1


def test_the_root_is_what_is_repeated_most() -> None:
    assert common_root(DEEP) == HOME
    assert common_root([*DEEP, "/srv/notes.txt"]) == HOME


@pytest.mark.parametrize("paths", [[], ["src/a.py", "src/b.py"], DEEP[:1], ["/etc/hosts", "/etc/fstab"]])
def test_where_nothing_is_repeated_there_is_none(paths: list[str]) -> None:
    assert common_root(paths) == ""


@given(st.lists(st.lists(st.sampled_from(["", "a", "b", "ab"]), max_size=12).map("/".join), max_size=8))
def test_the_root_is_the_one_that_looking_at_every_directory_would_give(told: list[str]) -> None:
    within: Counter[str] = Counter()
    for path in told:
        parts = path.split("/")
        if path.startswith("/"):
            within.update("/".join(parts[:end]) for end in range(3, len(parts) - KEPT + 1))
    often = [root for root, files in within.items() if files > 1]
    assert common_root(told) == max(often, key=lambda root: (within[root] * len(root), root), default="")


@pytest.mark.finding("K13")
def test_a_root_takes_no_more_memory_than_its_paths_have_parts() -> None:
    longest, deepest = "/" + "a/" * 50_000, "/" + "a/" * 2_000
    tracemalloc.start()
    try:
        common_root([longest, f"{longest}b"])
        common_root([f"/{number}{deepest}" for number in range(100)])
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 8 << 20


def test_a_path_keeps_enough_to_say_what_it_belongs_to() -> None:
    short = shortened(DEEP[0], HOME)
    assert short == "…/src/engine/parts/cards/reader.py"
    assert short.count("/") == KEPT
    assert shortened(f"{HOME}/README.md", HOME) == f"{HOME}/README.md"


def test_a_command_is_told_shorter_too_and_a_longer_name_is_another_directory() -> None:
    assert shortened(f"$ pytest {DEEP[0]} -q", HOME) == "$ pytest …/src/engine/parts/cards/reader.py -q"
    other = DEEP[0].replace("engine/src", "engine-old/src")
    assert shortened(other, HOME) == other
    assert not is_below(other, HOME)


names = st.text("abcdefgh.-_", min_size=1, max_size=6)
paths = st.lists(names, min_size=1, max_size=10).map(lambda parts: "/" + "/".join(parts))


@given(st.lists(paths, max_size=12))
def test_what_was_shortened_is_restored(told: list[str]) -> None:
    root = common_root(told)
    for path in told:
        assert restored(shortened(path, root), root) == path


def _session(paths: list[str]) -> tuple[SourceMessage, ...]:
    said = [Message("user", (Text("Make the card engine faster."),))]
    for number, path in enumerate(paths):
        said.append(Message("assistant", (ToolCall(f"c{number}", "Read", f'{{"file_path": "{path}"}}'),)))
        said.append(Message("user", (ToolResult(f"c{number}", (Text(f"def open_deck_{number}(cards):"),)),)))
    return tuple(SourceMessage(seq, message) for seq, message in enumerate(said, 1))


@pytest.mark.parametrize(
    ("language", "line"), [("en", f"… stands for {HOME}"), ("ja", f"「…」は次の省略： {HOME}")], ids=["en", "ja"]
)
def test_a_digest_says_the_root_once_and_is_read_back_in_full(language: str, line: str) -> None:
    page = digest(SummaryRequest(_session(DEEP), budget=900, language=language), count)  # type: ignore[arg-type]
    assert page.splitlines().count(line) == 1
    assert page.count(HOME) == 1
    assert [entry.opens for entry in entries(page) if entry.opens] == DEEP


def test_the_root_is_not_said_again_for_commands() -> None:
    ran = [
        SourceMessage(
            90, Message("assistant", (ToolCall("x", "bash", f'{{"command": "pytest {DEEP[0]} -k open_deck"}}'),))
        ),
        SourceMessage(91, Message("user", (ToolResult("x", (Text("1 passed in open_deck_0"),)),))),
    ]
    page = digest(SummaryRequest((*_session(DEEP), *ran), budget=900), count)
    assert "#90 $ pytest …/src/engine/parts/cards/reader.py" in page
    assert page.count(HOME) == 1
    assert f"$ pytest {DEEP[0]} -k open_deck" in [entry.opens for entry in entries(page)]


def test_a_digest_without_repeated_paths_has_no_such_line() -> None:
    page = digest(SummaryRequest(_session(["src/reader.py", "src/writer.py"]), budget=900), count)
    assert "stands for" not in page
