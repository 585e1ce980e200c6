"""What fills the window, and what was billed: for people in both languages, for programs as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import contextfold as cf
from tests.unit.cli.conftest import MODEL, Cli


@pytest.mark.finding("N17")
def test_the_parts_of_a_window_are_the_window(cli: Cli, store: Path) -> None:
    told = cli("context", "--json").json
    parts = {(part["part"], part["name"]): part["tokens"] for part in told["parts"]}
    assert sum(parts.values()) == told["window"] == cf.model(MODEL).window
    with cf.open(store) as opened:
        shown = opened.thread("refactor-42").view.count.tokens
    assert abs(told["used"] - shown) <= len(parts)
    assert parts["summary", "summary"] > 0
    assert parts["free", ""] > parts["reserve", ""] > 0


@pytest.mark.finding("N17")
def test_the_tail_is_what_stands_as_said_behind_the_last_fold(cli: Cli, store: Path) -> None:
    told = cli("context", "--json").json
    with cf.open(store) as opened:
        view = opened.thread("refactor-42").view
        last = max(place for place in range(view.length) if view.item(place).kind == "stand_in")
        assert told["tail"] == {"messages": view.length - last - 1, "tokens": view.tokens(last + 1, view.length)}
    assert 0 < told["tail"]["tokens"] < told["used"]
    assert f"the tail: {told['tail']['messages']} messages" in cli("context").out
    assert f"末尾: そのままの {told['tail']['messages']} 件" in cli("context", "--lang", "ja").out


@pytest.mark.finding("N17")
def test_results_are_told_by_their_tools(cli: Cli, store: Path) -> None:
    assert cli("import", store.with_name("session.jsonl"), "--as", "plain", "--model", MODEL).code == 0
    results = {part["name"] for part in cli("context", "plain", "--json").json["parts"] if part["part"] == "result"}
    assert len(results - {"…", "?"}) >= 2


@pytest.mark.finding("N17")
def test_the_breakdown_speaks_both_languages_within_80_columns(cli: Cli, store: Path) -> None:
    assert store.exists()
    english, japanese = cli("context").out, cli("context", "--lang", "ja").out
    assert "room for the answer" in english
    assert "回答用の余地" in japanese
    assert max(map(len, english.splitlines())) <= 80


@pytest.mark.finding("N17")
def test_system_and_tools_of_the_newest_request_are_part_of_it(cli: Cli, tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "contextfold.db", thread="t", model=MODEL) as session:
        session.append({"role": "user", "content": "hello"})
        session.prepare(system="You are careful. " * 200)
        session.append({"role": "assistant", "content": "hi"})
    parts = {part["part"]: part["tokens"] for part in cli("context", "--json").json["parts"]}
    assert parts.get("fixed", 0) + parts.get("system", 0) > 500


def claude_log(folder: Path, project: str, day: str, model: str = MODEL) -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 0, "output_tokens": 5}
    answer = {"role": "assistant", "content": "hi", "id": "m", "model": model, "usage": usage}
    rows: list[dict[str, object]] = [
        {"type": "user", "uuid": "1", "parentUuid": None, "message": {"role": "user", "content": "hello"}},
        {"type": "assistant", "uuid": "2", "parentUuid": "1", "message": answer},
    ]
    (folder / project).mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({**row, "sessionId": "s", "timestamp": f"{day}T10:00:00Z"}) for row in rows]
    (folder / project / f"{day}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


@pytest.mark.finding("N17")
def test_logged_bills_by_day_model_and_project(cli: Cli, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    claude_log(logs, "shop", "2026-01-02")
    claude_log(logs, "shop", "2026-01-03")
    claude_log(logs, "blog", "2026-01-03", "a-model-without-a-price")
    prices = cf.model(MODEL).prices
    assert prices is not None
    once = (10 * prices.input + 90 * prices.read + 5 * prices.output) / 1e6
    days = cli("usage", logs, "--json").json
    assert [(line["name"], line["requests"]) for line in days["lines"]] == [("2026-01-02", 1), ("2026-01-03", 2)]
    assert days["total"]["cost"] == pytest.approx(2 * once, abs=1e-9)
    assert (days["total"]["input"], days["total"]["read"], days["total"]["unpriced"]) == (300, 270, 1)
    projects = cli("usage", logs, "--by", "project", "--json").json["lines"]
    assert [(line["name"], line["requests"]) for line in projects] == [("blog", 1), ("shop", 2)]
    models = cli("usage", logs, "--by", "model")
    assert "a-model-without-a-price" in models.out
    assert "prices are not known" in models.err
    assert "合計" in cli("usage", logs, "--lang", "ja").out


@pytest.mark.finding("N17")
def test_bills_of_the_store_are_usage_too(cli: Cli, tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "contextfold.db", thread="t", model=MODEL) as session:
        session.append({"role": "user", "content": "hello"})
        session.prepare()
        usage = {"input_tokens": 20, "cache_read_input_tokens": 0, "output_tokens": 4}
        session.append({"role": "assistant", "content": "hi"}, usage=usage)
    told = cli("usage", "--by", "project", "--json").json
    assert [(line["name"], line["input"], line["output"]) for line in told["lines"]] == [("t", 20, 4)]
    assert "no bills" in cli("usage", "--store", made_empty(tmp_path)).out


def made_empty(folder: Path) -> Path:
    path = folder / "empty.db"
    cf.open(path).close()
    return path
