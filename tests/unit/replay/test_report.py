"""A report for programs and for people: JSON by its schema, CSV, Markdown, and nothing that does harm."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from contextfold.replay import (
    ReplayReport,
    as_csv,
    as_html,
    as_markdown,
    decode_report,
    encode_report,
    harmless,
    report_of,
    schema,
)
from contextfold.replay.results import compared
from contextfold.replay.tables import answer, baseline, money, percent

PAGE = Path(__file__).parents[3] / "docs" / "replay.md"


def conforms(value: Any, part: Any, definitions: Any) -> bool:
    """Enough of JSON Schema for this one: references, objects, arrays, alternatives, constants and plain types."""
    if "$ref" in part:
        return conforms(value, definitions[part["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in part:
        return any(conforms(value, each, definitions) for each in part["anyOf"])
    if "enum" in part:
        return value in part["enum"]
    match part.get("type"):
        case "object":
            fields = part.get("properties", {})
            rest = part.get("additionalProperties", {})
            if not isinstance(value, dict) or not set(part.get("required", ())) <= set(value):
                return False
            return all(conforms(each, fields.get(name, rest), definitions) for name, each in value.items())
        case "array":
            return isinstance(value, list) and all(conforms(each, part["items"], definitions) for each in value)
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case _:
            return True


def test_the_json_keeps_to_its_schema(report: ReplayReport) -> None:
    told = schema()
    value = json.loads(encode_report(report))
    assert conforms(value, told, told["$defs"])
    assert not conforms({**value, "rows": [{"file": 1}]}, told, told["$defs"])
    assert not conforms({**value, "complete": "yes"}, told, told["$defs"])


def test_a_report_is_read_back_as_it_was_written(report: ReplayReport) -> None:
    assert decode_report(encode_report(report)) == report


def test_every_field_of_the_json_is_explained() -> None:
    """docs/replay.md names each field of a report, of a row, and of what stands inside a row."""
    page = PAGE.read_text("utf-8")
    fields = {name for part in schema()["$defs"].values() for name in part.get("properties", ())}
    assert {"invalid", "unfit", "lost", "folds", "cost"} < fields
    assert sorted(name for name in fields if f"`{name}`" not in page) == []


def test_csv_has_a_line_for_each_session_and_policy(report: ReplayReport) -> None:
    lines = list(csv.DictReader(io.StringIO(as_csv(report))))
    assert len(lines) == len(report.rows)
    for line, row in zip(lines, report.rows, strict=True):
        assert (line["policy"], int(line["tokens"]), int(line["folds"])) == (row.policy, row.tokens, row.folds)
        assert float(line["cost_total"]) == pytest.approx(row.cost.total if row.cost else 0, abs=1e-6)
        assert int(line["strict_of"]) == row.retained.strict.of


def test_a_file_name_is_no_formula_in_csv(report: ReplayReport) -> None:
    names = {line["file"] for line in csv.DictReader(io.StringIO(as_csv(report)))}
    assert any(name.startswith("'=cmd") for name in names)


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_markdown_shows_the_totals_and_what_failed(report: ReplayReport, lang: Any) -> None:
    text = as_markdown(report, lang)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + len(report.totals)
    assert len({line.count("|") - line.count("\\|") for line in rows}) == 1
    assert f"{report.totals[0].tokens:,}" in text
    assert "odd\\<b\\>.bin" in text


def test_a_report_cut_short_says_so(report: ReplayReport) -> None:
    assert "cut short" in as_markdown(replace(report, complete=False))
    assert "cut short" not in as_markdown(report)


def test_nothing_a_file_is_called_reaches_a_terminal(report: ReplayReport) -> None:
    for text in (as_csv(report), as_markdown(report), encode_report(report).decode()):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert {row.file for row in report.rows if row.file.startswith("=cmd")} == {
        "=cmd\\x1b[31m\\u202e<img src=x onerror=alert(1)>|*.jsonl"
    }


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain name.jsonl", "plain name.jsonl"),
        ("日本語 é", "日本語 é"),
        ("a\x1b]0;owned\x07b", "a\\x1b]0;owned\\x07b"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u200bb\nc\r\td\u2028e", "a\\u200bb\\x0ac\\x0d\\x09d\\u2028e"),
        ("\x9b31m", "\\x9b31m"),
        ("\udcff", "\\udcff"),
        ("x" * 500, "x" * 199 + "…"),
    ],
)
def test_odd_characters_are_written_out(given: str, shown: str) -> None:
    assert harmless(given) == shown
    harmless(given).encode("utf-8")


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(example, PAGE.name, "exec"), {})  # noqa: S102  # our own documentation
    assert decode_report((tmp_path / "report.json").read_bytes()).is_sound


@pytest.mark.finding("N6")
def test_only_sessions_that_every_policy_went_through_are_summed_up(report: ReplayReport) -> None:
    missing = report.rows[-1]
    again = report_of(report.settings, report.rows[:-1], files=[row.file for row in report.rows])
    assert (again.sessions, again.compared) == (report.sessions, report.compared - 1)
    assert {total.sessions for total in again.totals} == {again.compared}
    assert missing.file not in {row.file for row in compared(report.rows[:-1])}
    assert len(again.rows) == len(report.rows) - 1


@pytest.mark.finding("N6")
def test_the_share_is_of_the_very_dollars_beside_it(report: ReplayReport) -> None:
    whole = next(total.cost for total in report.totals if total.kind == "full")
    assert whole is not None
    for total in report.totals:
        assert total.cost is not None
        assert total.against_full == pytest.approx(total.cost.total / whole.total)


@pytest.mark.finding("N6")
@pytest.mark.parametrize("lang", ["en", "ja"])
def test_one_sentence_says_what_would_have_been_paid_and_against_what(report: ReplayReport, lang: Any) -> None:
    first, whole = report.totals[0], next(total for total in report.totals if total.kind == "full")
    told = answer(report, lang)
    assert first.policy in told
    assert money(first.cost) in told
    assert money(whole.cost) in told
    assert percent(first.against_full) in told
    assert percent(first.retained.strict.value) in told
    assert first.paid is not None
    assert money(first.paid) in told  # what the logs were billed
    assert "\n" not in told
    for shown in (as_markdown(report, lang), html.unescape(as_html(report, lang))):
        assert told in shown
        assert baseline(report, lang) in shown
    assert f"{report.unseen:,}" in baseline(report, lang)


@pytest.mark.finding("N6")
def test_without_prices_the_sentence_counts_tokens(report: ReplayReport) -> None:
    totals = tuple(replace(total, cost=None, paid=None, against_full=None) for total in report.totals)
    told = answer(replace(report, totals=totals), "en")
    assert "$" not in told
    assert f"{totals[0].tokens:,}" in told
