"""Commands on a store in PostgreSQL."""

import json
from pathlib import Path

import contextfold as cf
from contextfold.domain import Attached, Folded
from tests.postgres_server import drop_schema, schema_of
from tests.unit.cli.conftest import MODEL, Cli


def test_migrate_makes_the_tables_once_and_check_changes_nothing(cli: Cli, postgres_address: str) -> None:
    address = schema_of(postgres_address)
    assert cli("threads", "--store", address).code != 0
    told = cli("migrate", "--check", "--store", address, "--json")
    assert (told.code, told.json["needed"], told.json["found"]) == (1, True, 0)
    assert cli("migrate", "--store", address, "--json").json["found"] == 0
    assert "nothing to do" in cli("migrate", "--store", address).out
    assert cli("migrate", "--check", "--store", address).code == 0
    assert cli("threads", "--store", address, "--json").json == []
    drop_schema(address)


def test_migrate_is_for_postgresql(cli: Cli) -> None:
    told = cli("migrate", "--store", "agent.db")
    assert told.code != 0
    assert "files need no migration" in told.err


def test_a_store_is_copied_to_postgresql_and_back_bit_for_bit(
    cli: Cli, store: Path, postgres_store: str, tmp_path: Path
) -> None:
    with cf.open(store) as opened:
        fork = opened.thread("refactor-42").fork(name="other way")
        fork.append({"role": "user", "content": "another way"})
        opened.rename("other way", "the other way")
        opened.archive("the other way")
        expected = {row.title: opened.thread(row.name).body() for row in opened.threads()}
    told = cli("copy", postgres_store, "--store", store, "--json")
    assert (told.code, told.json["threads"], told.json["new"]) == (0, 2, 2)
    assert cli("copy", postgres_store, "--store", store, "--json").json["new"] == 0  # goes on where it stopped
    assert cli("verify", "--store", postgres_store).code == 0
    with cf.open(postgres_store) as there:
        assert {row.title: there.thread(row.name).body() for row in there.threads()} == expected
        assert [row.title for row in there.threads(archived=True)] == ["the other way"]
    back = tmp_path / "back.db"
    assert cli("copy", back, "--store", postgres_store, "--json").json["events"] > 10
    with cf.open(back) as again, cf.open(store) as opened:
        assert {row.title: again.thread(row.name).body() for row in again.threads()} == expected
        for row in opened.threads():
            assert again.thread(row.name).events == opened.thread(row.name).events


def test_a_second_copy_brings_only_what_is_new_and_forgets_what_was_forgotten(
    cli: Cli, store: Path, postgres_store: str
) -> None:
    with cf.open(store) as opened:
        fork = opened.thread("refactor-42").fork(name="other way")
    copied = cli("copy", postgres_store, "--store", store, "--json").json
    assert cli("copy", postgres_store, "--store", store, "--json").json["events"] == 0
    with cf.open(store) as opened:
        opened.thread("refactor-42").append({"role": "user", "content": "and more"})
        fork = opened.thread("other way")
        seqs = [fork.append({"role": "user", "content": f"secret {number}"}) for number in range(3)]
        opened.rename("other way", "the way")
        opened.archive("the way")
        opened.thread("late").append({"role": "user", "content": "a new one"})
    told = cli("copy", postgres_store, "--store", store, "--json").json
    assert (told["threads"], told["new"], told["events"]) == (copied["threads"] + 1, 1, 5)
    with cf.open(store) as opened:
        opened.forget("the way", seqs[1])
    assert cli("copy", postgres_store, "--store", store).code == 0
    with cf.open(postgres_store) as there, cf.open(store) as opened:
        assert "secret 1" not in str(there.thread("the way").body())
        assert [row.title for row in there.threads(archived=True)] == ["the way"]
        assert there.verify() == []
        for row in opened.threads():
            assert there.thread(row.name).body() == opened.thread(row.name).body()
        there.thread("late").append({"role": "user", "content": "only there"})
    assert "another one there" in cli("copy", postgres_store, "--store", store).err
    assert cli("copy", store, "--store", postgres_store, "--json").json["events"] == 1  # and the way back


def test_a_copy_never_mixes_two_threads_of_one_name(cli: Cli, store: Path, postgres_store: str) -> None:
    with cf.open(postgres_store) as there:
        there.thread("refactor-42").append({"role": "user", "content": "something else"})
    told = cli("copy", postgres_store, "--store", store)
    assert told.code != 0
    assert "another one there" in told.err


def test_commands_work_on_an_address_and_never_show_its_password(
    cli: Cli, store: Path, postgres_store: str, made: Path
) -> None:
    address = postgres_store.replace("owner@", "owner:hunter2@", 1)
    assert cli("copy", address, "--store", store).code == 0
    folds = cli("folds", "refactor-42", "--store", address, "--json").json
    assert folds
    for command in (
        ("threads",),
        ("show", "refactor-42"),
        ("context", "refactor-42"),
        ("recall", "test", "-t", "refactor-42"),
        ("stats", "refactor-42"),
        ("verify",),
        ("doctor",),
        ("import", made / "session.jsonl", "--as", "again", "--model", MODEL),
        ("fold", "again", "--to", "3000"),
        ("fork", "again"),
    ):
        told = cli(*command, "--store", address)
        assert told.code == 0, (command, told.err)
        assert "hunter2" not in told.out + told.err
    with cf.open(address) as opened:
        events = {type(each.event) for each in opened.thread("again").events}
        assert Folded in events or Attached in events


def test_retention_tells_before_it_forgets(cli: Cli, store: Path) -> None:
    with cf.open(store) as opened:
        assert len(opened.threads()) == 1
    told = cli("retention", "--older", "180d", "--dry-run", "--json").json
    assert told["threads"] == []
    refused = cli("retention", "--older", "1d")
    assert refused.code != 0
    assert "--yes" in refused.err
    assert cli("retention", "--older", "soon").code != 0


def test_retention_forgets_what_nobody_used(cli: Cli, tmp_path: Path) -> None:
    lines = [{"role": "user", "content": "old", "timestamp": "2020-01-01T00:00:00Z"}]
    (tmp_path / "old.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    assert cli("import", "old.jsonl", "--store", "s.db").code == 0
    with cf.open(tmp_path / "s.db") as opened:
        opened.thread("new").append({"role": "user", "content": "new"})
    told = cli("retention", "--older", "1y", "--dry-run", "--store", "s.db")
    assert "old" in told.out
    assert "would be forgotten" in told.out
    done = cli("retention", "--older", "1y", "--yes", "--store", "s.db", "--json").json
    assert [row["thread"] for row in done["threads"]] == ["old"]
    with cf.open(tmp_path / "s.db") as opened:
        assert {row.title: row.is_forgotten for row in opened.threads()} == {"old": True, "new": False}
