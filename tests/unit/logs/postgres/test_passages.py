"""Recall in PostgreSQL finds what a file finds, in tables that keep spaces apart and forget with the log."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

import contextfold as cf
from contextfold.recall import Passage

psycopg = pytest.importorskip("psycopg", reason="Tests of PostgreSQL need contextfold[postgres].")

from contextfold.logs.postgres import (  # noqa: E402  # an extra, asked for above
    PostgresSettings,
    grant,
    migrate,
    schema,
)
from contextfold.logs.postgres.connections import Connections  # noqa: E402
from contextfold.logs.postgres.passages import ASKED  # noqa: E402
from tests.postgres_server import PostgresServer, drop_schema, schema_of  # noqa: E402

MODEL = "claude-sonnet-4-5"
TOLD = {
    3: "We chose port 8443 for the proxy because the firewall blocks others.",
    9: "parse_args in src/app.py drops the --verbose flag.",
    14: "出雲大社に行く予定です。旅館はもう予約しました。",
    21: "Rosalind lent me her tent for the walking tour.",
    33: "The migrations of the database were running twice.",
}
QUESTIONS = {
    "which port did we choose for the proxy?": 3,
    "what about parseArgs?": 9,
    "src/app.py": 9,
    "旅館の予約はどうなりましたか?": 14,
    "who lent the tents?": 21,
    "database migration ran twice": 33,
}


@pytest.fixture
def space(tmp_path: Path) -> str:
    return str(tmp_path)


def talk(store: cf.Store, name: str = "talk") -> list[int]:
    thread = store.thread(name, model=MODEL)
    texts = [TOLD.get(place, f"Chapter {place} speaks of nothing in particular.") for place in range(40)]
    roles = ("user", "assistant")
    with store.batch():
        return [thread.append({"role": roles[place % 2], "content": text}) for place, text in enumerate(texts)]


def best(store: cf.Store, question: str, thread: str | None = "talk") -> Passage:
    return max(store.recall(question, thread, budget=400), key=lambda passage: passage.score)


def sql(address: str, statement: str, *values: object, **names: str) -> list[tuple[object, ...]]:
    """Somebody's own SQL."""
    with closing(Connections(PostgresSettings.of(address))) as connections, connections.leased() as connection:
        found = connection.execute(connections.text(statement, **names), values or None)
        return found.fetchall() if found.description else []


def counted(address: str, space: str) -> object:
    statement = (
        "SELECT count(*) FROM {schema}.passages AS p JOIN {schema}.spaces AS s ON s.id = p.space"
        " WHERE s.name = convert_to(%s, 'UTF8')"
    )
    return sql(address, statement, space)[0][0]


def test_what_a_file_finds_is_found_in_the_servers_own_tables(postgres_tables: str, space: str, tmp_path: Path) -> None:
    with cf.open(postgres_tables, space=space) as store, cf.open(tmp_path / "agent.db") as file:
        said, there = talk(store), talk(file)
        assert said == there
        for question, place in QUESTIONS.items():
            ours, theirs = best(store, question), best(file, question)
            assert (ours.seq, ours.text, ours.matched) == (theirs.seq, theirs.text, theirs.matched)
            assert ours.seq == said[place]
            assert best(store, question, None).seq == said[place]
            shown = {passage.seq for passage in store.recall(question, "talk", budget=250)}
            same = {passage.seq for passage in file.recall(question, "talk", budget=250)}
            assert len(shown & same) >= 0.7 * len(same)
    assert counted(postgres_tables, space) == 40


def test_whole_rankings_are_those_of_a_file(postgres_tables: str, space: str, tmp_path: Path) -> None:
    with cf.open(postgres_tables, space=space) as store, cf.open(tmp_path / "agent.db") as file:
        talk(store)
        talk(file)
        for question in QUESTIONS:
            shown = [[passage.seq for passage in each.recall(question, "talk", budget=250)] for each in (store, file)]
            assert shown[0] == shown[1], question


@pytest.fixture
def tenant(postgres_server: PostgresServer, postgres_store: str) -> Iterator[str]:
    """How a role that is neither owner nor superuser comes to a space of its own."""
    name = PostgresSettings.of(postgres_store).schema
    role = f"{name}_tenant"
    sql(postgres_store, "CREATE ROLE {role} LOGIN", role=role)
    grant(postgres_store, role=role, space="own")
    yield f"{postgres_server.address_for(role)}?schema={name}"
    sql(postgres_store, "DROP OWNED BY {role}", role=role)
    sql(postgres_store, "DROP ROLE {role}", role=role)


def test_a_tenants_question_reads_the_index_of_terms_and_not_whole_tables(postgres_store: str, tenant: str) -> None:
    with cf.open(tenant, space="own") as store:
        said = talk(store)
        assert best(store, "port of the proxy").seq == said[3]
    # So few rows are read whole, unless it costs too much; and no other index may serve in place of this one.
    sql(postgres_store, "ALTER TABLE {schema}.passages DROP CONSTRAINT passages_pkey")
    sql(postgres_store, "DROP INDEX {schema}.passages_by_seq")
    with closing(Connections(PostgresSettings.of(tenant))) as connections, connections.transaction() as connection:
        connection.execute("SET LOCAL enable_seqscan = off")
        asked = {"space": 1, "terms": ["port", "proxy"], "thread": None, "limit": 9}
        ((space,),) = connection.execute(connections.text("SELECT id FROM {schema}.spaces")).fetchall()
        found = connection.execute(connections.text(ASKED), asked | {"space": space}).fetchall()
        scans = "SELECT pg_stat_get_xact_numscans('{schema}.passages_by_term'::regclass)"
        assert [place for _, place, _ in found] == [3]
        assert connection.execute(connections.text(scans)).fetchall()[0][0] >= 1


def test_the_index_answers_nobody_about_a_space_of_others(postgres_store: str, tenant: str) -> None:
    with cf.open(postgres_store, space="other") as store:
        talk(store)
        assert best(store, "port of the proxy").seq
    holding = "SELECT place FROM {schema}.passages_holding((%s || 'zproxi')::tsquery, %s, NULL)"
    ((other,),) = sql(postgres_store, "SELECT id FROM {schema}.spaces WHERE name = 'other'")
    assert sql(postgres_store, holding, other, other) == [(3,)]
    assert sql(tenant, holding, other, other) == []
    role = f"{PostgresSettings.of(postgres_store).schema}_tenant"
    with (
        closing(Connections(PostgresSettings.of(postgres_store))) as connections,
        connections.transaction() as connection,
    ):
        connection.execute(connections.text("SET LOCAL ROLE {role}", role=role))
        assert connection.execute(connections.text(holding), (other, other)).fetchall() == []
    may = "SELECT has_function_privilege('public', '{schema}.passages_holding(tsquery, integer, bigint)', 'EXECUTE')"
    assert sql(postgres_store, may) == [(False,)]


def test_what_others_said_since_is_taken_in_and_nothing_twice(postgres_tables: str, space: str) -> None:
    with cf.open(postgres_tables, space=space) as one, cf.open(postgres_tables, space=space) as other:
        talk(one)
        assert best(other, "proxy").seq
        later = one.thread("talk").append({"role": "user", "content": "The zeppelin leaves at noon."})
        assert best(other, "zeppelin").seq == later
        assert best(one, "zeppelin").seq == later
        fork = one.thread("talk").fork(at=5, name="fork")
        mine = fork.append({"role": "user", "content": "A balloon is cheaper."})
        assert best(other, "balloon", "fork").seq == mine
        assert best(other, "port of the proxy", "fork").seq == 4
        assert all("zeppelin" not in passage.text for passage in other.recall("zeppelin", "fork", budget=5_000))
    assert counted(postgres_tables, space) == 42


def test_forgetting_deletes_there_too_and_an_index_made_anew_says_the_same(postgres_store: str) -> None:
    with cf.open(postgres_store) as store:
        said = talk(store)
        assert best(store, "who lent the tent?").seq == said[21]
        store.forget("talk", said[21])
        kept = "SELECT count(*), count(*) FILTER (WHERE terms::text LIKE '%rosalind%') FROM {schema}.passages"
        assert sql(postgres_store, kept) == [(39, 0)]
        before = [best(store, question).text for question in QUESTIONS]
        store.reindex()
        assert [best(store, question).text for question in QUESTIONS] == before
        assert sql(postgres_store, kept) == [(39, 0)]
        store.forget("talk")
        assert sql(postgres_store, kept) == [(0, 0)]


def test_several_processes_that_ask_at_once_take_everything_in_once(postgres_tables: str, space: str) -> None:
    with cf.open(postgres_tables, space=space) as store:
        talk(store)
    found: list[int] = []

    def ask() -> None:
        with cf.open(postgres_tables, space=space) as own:
            found.append(best(own, "port of the proxy").seq)

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join(60)
    assert found == [4] * 4
    assert counted(postgres_tables, space) == 40


@pytest.mark.parametrize("kept", ["sealed", "read only"])
def test_nothing_is_written_there_of_what_is_sealed_or_only_read(
    postgres_tables: str, space: str, tmp_path: Path, kept: str
) -> None:
    sealed = f"{postgres_tables}&encrypt_bodies={quote(str(tmp_path / 'keys'), safe='')}"
    address = sealed if kept == "sealed" else postgres_tables
    with cf.open(address, space=space) as store:
        said = talk(store)
    with cf.open(address, space=space, read_only=kept == "read only") as store:
        assert best(store, "port of the proxy").seq == said[3]
    assert counted(postgres_tables, space) == 0


def test_roles_that_had_a_space_before_may_use_the_tables_after_a_migration(
    postgres_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = schema_of(postgres_address)
    role = address.rsplit("=", 1)[-1] + "_old"
    sql(address, "CREATE ROLE {role} LOGIN", role=role)
    try:
        with monkeypatch.context() as before:
            before.setattr(schema, "VERSION", 2)
            migrate(address)
        sql(address, "INSERT INTO {schema}.tenants (space, role) VALUES (1, %s)", role)
        assert migrate(address).found == 2
        may = "SELECT has_table_privilege(%s, '{schema}.passages', 'INSERT')"
        assert sql(address, may, role) == [(True,)]
        asks = "SELECT has_function_privilege(%s, '{schema}.passages_holding(tsquery, integer, bigint)', 'EXECUTE')"
        assert sql(address, asks, role) == [(True,)]
    finally:
        drop_schema(address)
        sql(address, "DROP OWNED BY {role}", role=role)
        sql(address, "DROP ROLE {role}", role=role)
