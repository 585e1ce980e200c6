"""Commands about threads as a whole: pages of them, names, putting away, forgetting."""

from __future__ import annotations

from pathlib import Path

import pytest

import contextfold as cf
from tests.unit.cli.conftest import MODEL, Cli


@pytest.fixture
def many(tmp_path: Path) -> Path:
    with cf.open(tmp_path / "contextfold.db") as store:
        for name in ("alpha", "beta", "gamma", "beta/two"):
            store.thread(name, model=MODEL).append({"role": "user", "content": f"hello {name}"})
        store.thread("alpha").append({"role": "assistant", "content": "back again"})
    return tmp_path / "contextfold.db"


@pytest.mark.usefixtures("many")
@pytest.mark.finding("N13")
def test_threads_says_when_each_was_active_and_begins_with_the_newest(cli: Cli) -> None:
    rows = cli("threads", "--json").json
    assert [row["name"] for row in rows] == ["alpha", "beta/two", "gamma", "beta"]
    assert all(row["active"] >= row["created"] for row in rows)
    assert rows[0]["messages"] == 2
    assert rows[0]["bytes"] > 0
    assert "active" in cli("threads").out.splitlines()[0]


@pytest.mark.usefixtures("many")
def test_threads_come_in_pages_and_each_says_how_to_go_on(cli: Cli) -> None:
    first = cli("threads", "--limit", 2, "--json").json
    rest = cli("threads", "--limit", 9, "--after", first[-1]["changed"], "--json").json
    assert [row["name"] for row in (*first, *rest)] == ["alpha", "beta/two", "gamma", "beta"]
    assert f"--after={first[-1]['changed']}" in cli("threads", "--limit", 2).err
    assert cli("threads", "--order", "name", "--after", "beta", "--names").out == "beta/two\ngamma\n"
    assert cli("threads", "--order", "name", "--prefix", "beta", "--names").out == "beta\nbeta/two\n"
    assert cli("threads", "--after", "beta").code == 2


@pytest.mark.usefixtures("many")
@pytest.mark.finding("N13")
def test_a_thread_is_renamed_put_away_and_brought_back(cli: Cli) -> None:
    assert cli("rename", "alpha", "omega", "--json").json == {"thread": "omega", "before": "alpha"}
    assert cli("show", "alpha").code == cli("show", "omega").code == 0
    assert cli("archive", "omega").code == 0
    assert "omega" not in cli("threads", "--names").out
    assert "put away" in cli("threads", "--all").out
    assert cli("unarchive", "omega", "--json").json == {"thread": "omega", "archived": False}
    assert "omega" in cli("threads", "--names").out
    assert cli("rename", "omega", "beta").code != 0


@pytest.mark.usefixtures("many")
@pytest.mark.finding("N13")
def test_forgetting_a_fork_says_what_it_shares_and_where_that_stays(cli: Cli) -> None:
    cli("fork", "alpha", "--as", "fork")
    told = cli("forget", "fork", "--yes", "--json").json
    assert told == {"thread": "fork", "seq": None, "erased": 0, "shared": 2, "origin": "alpha"}
    said = cli("forget", "fork", "--yes").out
    assert "erased 0 texts" in said
    assert "2 texts are shared with alpha and stay there" in said
    assert "共有" in cli("forget", "fork", "--yes", "--lang", "ja").out
    assert "forgotten" in cli("threads").out
    row = next(row for row in cli("threads", "--json").json if row["name"] == "fork")
    assert (row["forgotten"], row["messages"], row["tokens"], row["bytes"]) == (True, 0, 0, 0)


@pytest.mark.finding("N9")
def test_a_list_of_threads_and_the_numbers_of_one_agree(cli: Cli, store: Path) -> None:
    with cf.Session.open(store, thread="billed", model="claude-sonnet-4-5") as session:
        for turn in range(4):
            session.append({"role": "user", "content": "Say it again, please. " * 50})
            session.prepare(system="You are brief. " * 100, max_tokens=200)
            usage = {"input_tokens": 900 + 200 * turn, "output_tokens": 5, "cache_read_input_tokens": 0}
            content = [{"type": "text", "text": "Once more."}]
            session.append({"type": "message", "role": "assistant", "content": content, "usage": usage})
        session.fork(name="forked")
        counted = session.view.tokens()
    rows = cli("threads", "--json").json
    assert {row["name"] for row in rows} == {"refactor-42", "billed", "forked"}
    for row in rows:
        stats = cli("stats", row["name"], "--json").json
        in_list = {name: row[name] for name in ("messages", "shown", "tokens", "folds")}
        of_one = {**{name: stats[name] for name in in_list}, "folds": sum(stats["folds"].values())}
        assert in_list == of_one
    assert next(row["tokens"] for row in rows if row["name"] == "billed") != counted  # bills were learned from


@pytest.fixture
def of_tenants(tmp_path: Path) -> Path:
    """A store as a gateway leaves it: nothing in the usual space, a space for each credential."""
    for space in ("tenant-1", "tenant-2"):
        with cf.open(tmp_path / "contextfold.db", space=space) as store:
            session = cf.Session.on(store, f"talk of {space}", MODEL)
            session.append({"role": "user", "content": f"The harbour of {space} is deep."})
            session.append({"role": "assistant", "content": "So it is."})
    return tmp_path / "contextfold.db"


@pytest.mark.usefixtures("of_tenants")
def test_whoever_looks_for_a_thread_is_told_of_the_other_spaces(cli: Cli) -> None:
    assert cli("threads", "--spaces").out == "tenant-1\ntenant-2\n"
    listed = cli("threads")
    assert "tenant-1, tenant-2" in listed.err
    assert "import" not in listed.out
    missed = cli("show")
    assert missed.code == 3
    assert "tenant-1, tenant-2. Name one with --space" in missed.err
    assert "harbour of tenant-2" in cli("show", "--space", "tenant-2").out
    assert "tenant-1" in cli("retention", "--older", "1y", "--dry-run").err


def test_the_only_space_with_threads_is_the_one_that_is_meant(cli: Cli, tmp_path: Path) -> None:
    with cf.open(tmp_path / "contextfold.db", space="tenant-1") as store:
        store.thread("talk", model=MODEL).append({"role": "user", "content": "The harbour is deep."})
    assert "harbour" in cli("show").out
    assert "harbour" in cli("recall", "harbour", "--all").out
    assert cli("threads").err == ""
    assert cli("threads", "--space", "default").out.startswith("contextfold.db has no thread yet")


def test_a_forgotten_thread_is_forgotten_in_a_copy_though_it_had_no_words_of_its_own(cli: Cli, many: Path) -> None:
    with cf.open(many) as store:
        store.thread("alpha").fork(name="tried")
    for name in ("tried", "gamma"):
        assert cli("forget", name, "--yes").code == 0
    for _ in range(2):
        assert cli("copy", "other.db").code == 0
        with cf.open(many.with_name("other.db")) as copied:
            assert {row.title for row in copied.threads() if row.is_forgotten} == {"tried", "gamma"}
            assert copied.verify() == []
            assert copied.thread("alpha").view.length == 2


def test_what_is_about_a_whole_store_goes_through_all_its_spaces(cli: Cli, of_tenants: Path) -> None:
    assert cli("verify", "--json").json["threads"] == 2
    assert "2 threads" in cli("doctor").out
    assert "none found in 4 texts" in cli("doctor").out
    assert cli("reindex", "--json").json["threads"] == 2
    assert cli("copy", "other.db", "--json").json["threads"] == 2
    assert cli("copy", "one.db", "--space", "tenant-2", "--json").json["threads"] == 1
    assert cli("doctor", "--rescue", "saved.db").code == 0
    for name in ("other.db", "saved.db"):
        for space in ("tenant-1", "tenant-2"):
            with cf.open(of_tenants.with_name(name), space=space) as store:
                assert [row.title for row in store.threads()] == [f"talk of {space}"]
