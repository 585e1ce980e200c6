"""The command line finds what was said in any thread, keeps memories, and makes the index anew."""

from __future__ import annotations

from pathlib import Path

import pytest

import contextfold as cf

from .conftest import MODEL, Cli


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    path = tmp_path / "contextfold.db"
    with cf.open(path) as store:
        for name, text in (("one", "We chose port 8443 for the proxy."), ("two", "ポートは 9000 番を使います。")):
            thread = store.thread(name, model=MODEL)
            thread.append({"role": "user", "content": text})
            thread.append({"role": "assistant", "content": "ok"})
            thread.fold([1, 2], "A talk.")
    return path


@pytest.mark.usefixtures("talks")
def test_a_question_searches_one_thread_or_all_of_them(cli: Cli) -> None:
    one = cli("recall", "which port", "-t", "one", "--json").json
    assert [(each["thread"], each["seq"], each["fold"]) for each in one][:1] == [("one", 1, 3)]
    everywhere = cli("recall", "ポート", "port", "--all", "--json").json
    assert {each["thread"] for each in everywhere} == {"one", "two"}
    shown = cli("recall", "ポート", "--all")
    assert "two · seq 1" in shown.out
    assert "9000" in shown.out
    assert "見つかりません" in cli("recall", "zebra", "-t", "one", "--lang", "ja").out


@pytest.mark.usefixtures("talks")
def test_a_budget_bounds_what_is_shown(cli: Cli) -> None:
    assert cli("recall", "port", "-t", "one", "--budget", "10", "--json").json == []


def test_the_index_is_made_anew_and_finds_the_same(cli: Cli, talks: Path) -> None:
    before = cli("recall", "port", "--all", "--json").json
    assert cli("reindex", "--json").json == {"store": "contextfold.db", "threads": 2}
    assert cli("recall", "port", "--all", "--json").json == before
    assert "作り直しました" in cli("reindex", "--lang", "ja", "--store", talks).out


def test_memories_are_added_listed_replaced_exported_and_forgotten(cli: Cli) -> None:
    assert cli("memory", "add", "user-17", "Prefers tabs", "--kind", "preference", "--about", "indent").code == 0
    cli("memory", "add", "user-17", "Prefers spaces", "--kind", "preference", "--about", "indent")
    assert [each["text"] for each in cli("memory", "list", "user-17", "--json").json] == ["Prefers spaces"]
    assert "preference (indent) → 2" in cli("memory", "list", "user-17", "--history").out
    assert [each["id"] for each in cli("memory", "export", "user-17").json] == [1, 2]
    assert cli("memory", "forget", "user-17").code != 0
    assert cli("memory", "forget", "user-17", "2", "--json").json == {"erased": 1}
    assert [each["text"] for each in cli("memory", "list", "user-17", "--json").json] == ["Prefers tabs"]
    cli("memory", "forget", "user-17", "--yes")
    assert "nothing is remembered" in cli("memory", "list", "user-17").out
    assert cli("memory", "add", "user-17").code == 2


def test_without_a_name_it_is_listed_whom_there_are_memories_about(cli: Cli) -> None:
    cli("memory", "add", "user-17", "Prefers tabs")
    cli("memory", "add", "user-17", "Speaks Japanese")
    cli("memory", "add", "shop", "Ships on Fridays", "--scope", "project")
    cli("memory", "add", "user-18", "Wants nothing kept")
    cli("memory", "forget", "user-18", "--yes")
    assert cli("memory", "list", "--json").json == [
        {"scope": "project", "name": "shop", "memories": 1},
        {"scope": "user", "name": "user-17", "memories": 2},
    ]
    assert "2  user-17  user" in cli("memory", "list").out
    assert "プロジェクト" in cli("memory", "list", "--lang", "ja").out
    refused = cli("memory", "export")
    assert refused.code == 2
    assert "Whose memory?" in refused.err


@pytest.mark.usefixtures("talks")
def test_a_memory_is_no_thread_that_a_command_would_choose(cli: Cli) -> None:
    cli("forget", "two", "--yes")
    cli("archive", "two")
    cli("memory", "add", "user-17", "Prefers tabs")
    assert cli("show", "--json").code == 0
    assert {each["title"] if "title" in each else each["name"] for each in cli("threads", "--json").json} == {"one"}
