"""Over a network trips are what a log costs, so they are counted on the wire."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import contextfold as cf
from tests.postgres_server import PostgresServer, through
from tests.unit.logs.postgres.proxy import Wire

MODEL = "claude-sonnet-4-5"


@pytest.fixture
def wire(postgres_server: PostgresServer) -> Iterator[Wire]:
    with Wire(postgres_server.directory / ".s.PGSQL.5432") as wire:
        yield wire


@pytest.fixture
def store(postgres_tables: str, wire: Wire, tmp_path: Path) -> Iterator[cf.Store]:
    with cf.open(through(postgres_tables, wire.port), space=str(tmp_path)) as store:
        for number in range(8):  # each statement is prepared once, which is a trip of its own
            session = cf.Session.on(store, f"warm {number}", MODEL)
            session.append({"role": "user", "content": "up"})
            session.prepare()
        yield store


def spent(wire: Wire, before: int) -> int:
    return wire.trips - before


def test_an_append_is_one_trip(store: cf.Store, wire: Wire) -> None:
    thread = store.thread("a")
    before = wire.trips
    for number in range(10):
        thread.append({"role": "user", "content": f"{number}"}, key=f"k{number}")
    assert spent(wire, before) == 10


def test_a_turn_of_a_session_is_three_trips(store: cf.Store, wire: Wire) -> None:
    session = cf.Session.on(store, "a", MODEL)
    for number in range(5):
        before = wire.trips
        session.append({"role": "user", "content": f"question {number}"})
        session.prepare(system="Be brief.")
        session.append({"role": "assistant", "content": [{"type": "text", "text": f"answer {number}"}]})
        assert spent(wire, before) <= 3


def test_a_summary_that_reads_again_what_was_hidden_by_hand_takes_few_trips(
    postgres_tables: str, wire: Wire, tmp_path: Path
) -> None:
    with cf.open(postgres_tables, space=str(tmp_path)) as writer:
        thread = writer.thread("a", model=MODEL)
        with writer.batch():
            for number in range(300):
                words = f"step {number} of the work in src/part{number}.py. " * 40
                thread.append({"role": ("user", "assistant")[number % 2], "content": words})
            thread.fold(range(1, 281), "All of that, by hand.")
    with cf.open(through(postgres_tables, wire.port), space=str(tmp_path)) as store:
        session = cf.Session.on(store, "a")
        before = wire.trips
        assert session.fold(to=1_500).folds
        assert spent(wire, before) < 60, "each of 280 messages was a trip"


def test_opening_a_thread_is_two_trips_however_long_it_is(postgres_tables: str, wire: Wire, tmp_path: Path) -> None:
    with cf.open(postgres_tables, space=str(tmp_path)) as writer:
        thread = writer.thread("long")
        with writer.batch():
            for number in range(400):
                thread.append({"role": "user", "content": f"{number}"})
    with cf.open(through(postgres_tables, wire.port), space=str(tmp_path)) as store:
        before = wire.trips
        opened = store.thread("long")
        assert spent(wire, before) == 2
        assert len(opened.view) == 400


def test_a_long_view_is_read_and_prepared_in_three_trips(postgres_tables: str, wire: Wire, tmp_path: Path) -> None:
    with cf.open(postgres_tables, space=str(tmp_path)) as writer:
        thread = writer.thread("a", model=MODEL)
        for number in range(31):
            thread.append({"role": ("user", "assistant")[number % 2], "content": f"{number}"})
    with cf.open(through(postgres_tables, wire.port), space=str(tmp_path)) as store:
        session = cf.Session.on(store, "a")
        before = wire.trips
        assert len(session.prepare().body["messages"]) == 31
        assert spent(wire, before) <= 3


def test_the_words_of_one_message_cost_the_server_that_message_in_a_thread_whose_rows_it_never_counted(
    postgres_store: str,
) -> None:
    pytest.importorskip("psycopg", reason="Tests of PostgreSQL need contextfold[postgres].")
    from contextfold.logs.postgres import PostgresSettings  # noqa: PLC0415  # an extra
    from contextfold.logs.postgres.connections import Connections  # noqa: PLC0415
    from contextfold.logs.postgres.read import BODIES  # noqa: PLC0415

    with cf.open(postgres_store) as store, store.batch():
        thread = store.thread("a")
        for number in range(300):
            thread.append({"role": "user", "content": f"{number}"})
    fetched = "SELECT pg_stat_get_xact_tuples_fetched('{schema}.events'::regclass)"
    with (
        closing(Connections(PostgresSettings.of(postgres_store))) as connections,
        connections.transaction() as connection,
    ):
        connection.execute("SET LOCAL enable_seqscan = off")
        ((space, where),) = connection.execute(connections.text("SELECT space, id FROM {schema}.threads")).fetchall()
        before = connection.execute(connections.text(fetched)).fetchall()[0][0]
        assert len(connection.execute(connections.text(BODIES), ([150], space, where)).fetchall()) == 1
        after = connection.execute(connections.text(fetched)).fetchall()[0][0]
    assert after - before <= 2, "the message, and the one before it for its link"
