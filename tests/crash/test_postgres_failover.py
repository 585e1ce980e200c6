"""A replica takes the place of a primary that died: what was acknowledged is there, what was not is sent again."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from contextfold.domain import ThreadRow
from contextfold.errors import StoreError
from contextfold.testing.log_contract import message
from tests.postgres_server import PostgresServer, running_server, schema_of

if TYPE_CHECKING:
    from psycopg import Connection

    from contextfold.logs.postgres import PostgresLog

psycopg = pytest.importorskip("psycopg", reason="Tests of PostgreSQL need contextfold[postgres].")
postgres = pytest.importorskip("contextfold.logs.postgres", reason="Tests of PostgreSQL need contextfold[postgres].")

pytestmark = pytest.mark.crash
LONGEST = 60  # seconds to wait for anything here


@pytest.fixture
def pair() -> Iterator[tuple[PostgresServer, PostgresServer]]:
    """A primary that acknowledges what its replica has, and the replica."""
    with running_server() as primary, running_server(primary=primary) as replica:
        with psycopg.connect(primary.address, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
            _until(connection, "SELECT EXISTS (SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync')")
        yield primary, replica


def _until(connection: Connection[tuple[object, ...]], statement: str) -> None:
    deadline = time.monotonic() + LONGEST
    while not connection.execute(statement.encode()).fetchone()[0]:  # type: ignore[index]
        assert time.monotonic() < deadline, statement
        threading.Event().wait(0.02)


def either(*servers: PostgresServer) -> str:
    """An address of both, of which the one that takes writes is used."""
    hosts = ",".join(quote(str(server.directory), safe="") for server in servers)
    return schema_of(f"postgresql://owner@{hosts}/postgres?target_session_attrs=read-write", patience=LONGEST)


def test_a_promoted_replica_has_all_that_was_acknowledged_and_takes_once_what_was_not(
    pair: tuple[PostgresServer, PostgresServer],
) -> None:
    primary, replica = pair
    address = either(primary, replica)
    postgres.migrate(address)
    with closing(postgres.open_postgres(address, space="s")) as log, ThreadPoolExecutor(2) as aside:
        log.create(ThreadRow("a"))
        log.create(ThreadRow("b"))
        for number in range(10):
            log.append("a", [message(b"%d" % number, key=f"k{number}")], expected=number)
        replica.stop()
        # Committed by the primary, which may not say so while the replica is away.
        begun = aside.submit(log.append, "a", [message(b"10", key="k10")], expected=10)
        batch = aside.submit(_batched, log)
        with psycopg.connect(primary.address, autocommit=True) as connection:
            _until(connection, "SELECT count(*) = 2 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        assert not begun.done()
        primary.kill()
        replica.start()
        replica.promote()
        assert begun.result(LONGEST)[0].seq == 11  # sent again, by itself
        with pytest.raises(StoreError):  # whoever batches is told, and does it again
            batch.result(LONGEST)
        for _ in range(2):  # by its key, and once more
            assert log.append("b", [message(b"in a batch", key="b0")], expected=0)[0].seq == 1
        assert log.append("a", [message(b"10", key="k10")], expected=10)[0].seq == 11
        log.append("a", [message(b"11")], expected=11)
        assert log.verify() == []
        assert list(log.bodies("a", range(1, 14)).values()) == [b"%d" % number for number in range(12)]
        assert list(log.bodies("b", range(1, 14)).values()) == [b"in a batch"]


def _batched(log: PostgresLog) -> None:
    with log.batch():
        log.append("b", [message(b"in a batch", key="b0")], expected=0)
