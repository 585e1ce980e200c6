"""Whatever a file holds, reading it ends in recordings or in an error of ours, and the account adds up."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextfold import dialects, transcripts
from contextfold.errors import ContextFoldError
from contextfold.transcripts import Limits, Whole
from tests.unit.transcripts.every import FILES
from tests.unit.transcripts.samples import jsonl, kinds, places

# The folder is shared by the examples of one test: each writes its file anew.
shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)

atoms = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | st.just("\ud83d")
values = st.recursive(atoms, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner))


def read(path: Path, content: bytes) -> list[Whole]:
    path.write_bytes(content)
    return [recording.whole() for recording in transcripts.read(path, limits=Limits(line=1 << 20, document=1 << 20))]


def check(wholes: list[Whole]) -> None:
    """Every turn is a message that a dialect takes."""
    for whole in wholes:
        for turn in whole.turns:
            dialect = dialects.find(dialects.detect(turn.message) or "anthropic")
            assert dialect.parse(turn.raw).raw == turn.raw


def slots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value where another could stand."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield value, key
        yield from slots(inner)


@st.composite
def twisted(draw: st.DrawFn) -> bytes:
    """A file of some format with a few values replaced by others."""
    content = FILES[draw(st.sampled_from([name for name in FILES if name != "asdc"]))]
    whole = json.loads(b"[" + content.strip().replace(b"\n", b",") + b"]")
    for _ in range(draw(st.integers(1, 4))):
        places_ = list(slots(whole))
        holder, key = draw(st.sampled_from(places_))
        if isinstance(holder, dict) and draw(st.booleans()):
            del holder[key]
        else:
            holder[key] = draw(values)
        if not whole:
            break
    return b"\n".join(json.dumps(each).encode() for each in whole)


@st.composite
def broken(draw: st.DrawFn) -> bytes:
    """A file of some format with bytes cut out, put in or flipped, compressed or not."""
    content = FILES[draw(st.sampled_from(list(FILES)))]
    if draw(st.booleans()):
        content = gzip.compress(content, mtime=0)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(content)))
        cut = draw(st.integers(0, 40))
        content = content[:at] + draw(st.binary(max_size=12)) + content[at + cut :]
    return content


@shared
@given(content=twisted())
def test_no_odd_value_in_a_file_stops_the_reading_in_an_unexpected_way(tmp_path: Path, content: bytes) -> None:
    try:
        wholes = read(tmp_path / "twisted", content)
    except ContextFoldError:
        return
    check(wholes)


@shared
@given(content=broken() | st.binary(max_size=300))
def test_no_damage_to_a_file_stops_the_reading_in_an_unexpected_way(tmp_path: Path, content: bytes) -> None:
    try:
        wholes = read(tmp_path / "broken", content)
    except ContextFoldError:
        return
    check(wholes)


@shared
@given(content=broken())
def test_a_strict_reading_of_a_damaged_file_fails_exactly_where_the_other_reports_damage(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "strict"
    try:
        damaged = any("damaged" in kinds(whole) for whole in read(path, content))
    except ContextFoldError:
        return
    try:
        for recording in transcripts.read(path, strict=True):
            recording.whole()
    except ContextFoldError:
        assert damaged
    else:
        assert not damaged


@st.composite
def sessions(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Claude Code sessions as no program would write them: any line may name any other as its parent."""
    count = draw(st.integers(1, 14))
    ids = [f"id{number}" for number in range(count)]
    rows = []
    for id in ids:
        type_ = draw(st.sampled_from(["user", "assistant", "progress", "system", "file-history-snapshot"]))
        row: dict[str, Any] = {"type": type_, "sessionId": "s", "isSidechain": draw(st.booleans())}
        row["parentUuid"] = draw(st.none() | st.sampled_from([*ids, "nowhere"]))
        if type_ != "file-history-snapshot":
            row["uuid"] = draw(st.sampled_from([id, id, id, ids[0], ""]))
        if type_ in ("user", "assistant"):
            row["message"] = {"role": type_, "content": draw(contents(type_))}
            row["message"]["id"] = draw(st.sampled_from(["m1", "m2"]))
            row["isCompactSummary"] = draw(st.sampled_from([False, False, False, True]))
        if type_ == "system" and draw(st.booleans()):
            row["subtype"] = "compact_boundary"
        rows.append(row)
    return rows


def contents(type_: str) -> st.SearchStrategy[Any]:
    call = st.sampled_from(["c1", "c2", "c3"])
    if type_ == "assistant":
        block = call.map(lambda id: {"type": "tool_use", "id": id, "name": "t", "input": {}})
    else:
        block = call.map(lambda id: {"type": "tool_result", "tool_use_id": id, "content": "r"})
    return st.text(max_size=5) | st.lists(block | st.just({"type": "text", "text": "x"}), max_size=3)


@shared
@given(rows=sessions())
def test_whatever_tree_the_lines_form_each_is_accounted_for_once(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "tree"
    content = jsonl(rows)
    try:
        wholes = read(path, content)
    except ContextFoldError:
        assert not any("parentUuid" in row for row in rows)
        return

    assert sorted(place for whole in wholes for place in places(whole)) == list(range(1, len(rows) + 1))
    check(wholes)


@shared
@given(rows=sessions())
def test_a_result_follows_its_call_or_is_reported(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    for whole in read(tmp_path / "pairs", jsonl(rows)):
        called: set[str] = set()
        lost = 0
        for turn in whole.turns:
            for block in turn.message["content"] if isinstance(turn.message["content"], list) else ():
                if block["type"] == "tool_use":
                    called.add(block["id"])
                if block["type"] == "tool_result" and block["tool_use_id"] not in called:
                    lost += 1
        assert kinds(whole).count("result-without-call") + kinds(whole).count("repeated-result") >= lost
