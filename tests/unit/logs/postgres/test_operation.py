"""What operators do with a store in PostgreSQL: migrate it, give tenants their spaces, put a pooler before it."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

import contextfold as cf
from contextfold.domain import Logged, ThreadPage, ThreadRow
from contextfold.errors import BadConfiguration, NotFound, ReadOnly, StoreError, TooNew
from contextfold.testing.log_contract import message
from tests.postgres_server import PostgresServer, drop_schema, schema_of

psycopg = pytest.importorskip("psycopg", reason="Tests of PostgreSQL need contextfold[postgres].")

from contextfold.logs.postgres import (  # noqa: E402  # an extra, asked for above
    Migration,
    PostgresSettings,
    grant,
    migrate,
    open_postgres,
)
from contextfold.logs.postgres.connections import Connections  # noqa: E402


@pytest.fixture
def space(tmp_path: Path) -> str:
    return str(tmp_path)


def sql(address: str, statement: str, *values: object, **names: str) -> list[tuple[object, ...]]:
    """Somebody's own SQL."""
    settings = PostgresSettings.of(address)
    with closing(Connections(settings)) as connections, connections.leased() as connection:
        text = connections.text(statement, **names)
        found = connection.execute(text, values or None)
        return found.fetchall() if found.description else []


_ROLE = "DO $$ BEGIN CREATE ROLE {role} LOGIN; EXCEPTION WHEN duplicate_object THEN END $$"


# -- migrations --------------------------------------------------------------------------------------------------------


def test_opening_never_makes_tables(postgres_address: str) -> None:
    address = schema_of(postgres_address)
    with pytest.raises(StoreError, match="contextfold migrate"):
        cf.open(address)
    assert migrate(address, check=True) == Migration(0)


def test_many_migrations_at_once_are_one(postgres_address: str) -> None:
    address = schema_of(postgres_address)
    found: list[int] = []
    running = [threading.Thread(target=lambda: found.append(migrate(address).found)) for _ in range(4)]
    for each in running:
        each.start()
    for each in running:
        each.join(60)
    wanted = Migration(0).wanted
    assert sorted(found) == [0, wanted, wanted, wanted]
    assert not migrate(address, check=True).is_needed
    drop_schema(address)


def test_a_store_of_a_newer_version_is_left_alone(postgres_store: str) -> None:
    sql(postgres_store, "INSERT INTO {schema}.migrations (version) VALUES (99)")
    with pytest.raises(TooNew, match="newer"):
        cf.open(postgres_store)
    with pytest.raises(TooNew, match="newer"):
        migrate(postgres_store)


def test_a_dump_of_another_server_is_noticed_and_mended(postgres_store: str) -> None:
    """Its moments lie in this server's future; whoever follows would miss what is written now."""
    with closing(open_postgres(postgres_store)) as log:
        log.create(ThreadRow("a"))
        before = log.changes()[-1].cursor
    sql(postgres_store, "UPDATE {schema}.threads SET changed = changed + (1::bigint << 42)")
    sql(postgres_store, "UPDATE {schema}.happenings SET moment = moment + (1::bigint << 42)")
    with pytest.raises(StoreError, match="dump"):
        open_postgres(postgres_store)
    migrate(postgres_store)
    with closing(open_postgres(postgres_store)) as log:
        log.append("a", [message(b"1")], expected=0)
        restored, written = log.changes(after=before)
        assert (restored.seq, written.seq) == (0, 1)


# -- tenants -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def tenants(postgres_server: PostgresServer, postgres_store: str) -> dict[str, str]:
    """Two roles, each with a space; the addresses by which they come."""
    roles = {"team_a": "team-a", "team_b": "team-b"}
    schema = PostgresSettings.of(postgres_store).schema
    for role, space in roles.items():
        sql(postgres_store, _ROLE, role=role)
        grant(postgres_store, role=role, space=space)
    return {role: f"{postgres_server.address_for(role)}?schema={schema}" for role in roles}


def test_a_tenant_uses_its_space_and_sees_nothing_of_another(tenants: dict[str, str]) -> None:
    for role, space in (("team_a", "team-a"), ("team_b", "team-b")):
        with cf.open(tenants[role], space=space) as store:
            thread = store.thread("same name", model="claude-sonnet-4-5")
            thread.append({"role": "user", "content": f"a secret of {role}"}, key="k")
            assert store.verify() == []
            assert [passage.text for passage in store.recall("whose secret?")] == [f"a secret of {role}"]
    for table in ("spaces", "threads", "names", "events", "happenings", "tenants", "indexed", "passages"):
        seen = sql(tenants["team_b"], "SELECT count(*) FROM {schema}.{table}", table=table)
        assert seen == [(1,)], table
    bodies = sql(tenants["team_b"], "SELECT body FROM {schema}.events")
    assert all(b"team_a" not in bytes(body) for (body,) in bodies)  # type: ignore[call-overload]  # bytea
    with cf.open(tenants["team_b"], space="team-a") as store:
        assert store.threads() == []
        with pytest.raises((NotFound, ReadOnly)):
            store.thread("same name")


def test_a_tenant_cannot_write_into_another_space_or_change_what_was_written(tenants: dict[str, str]) -> None:
    with cf.open(tenants["team_a"], space="team-a") as store:
        store.thread("a").append({"role": "user", "content": "mine"})
    ((own,),) = sql(tenants["team_b"], "SELECT id FROM {schema}.spaces")
    for statement in (
        "INSERT INTO {schema}.blobs (space, digest, bytes) SELECT %s - 1, 'd', 'b'",
        "UPDATE {schema}.migrations SET version = %s",
        "INSERT INTO {schema}.tenants (space, role) SELECT %s - 1, current_user",
    ):
        with pytest.raises(StoreError):
            sql(tenants["team_b"], statement, own)
    assert sql(tenants["team_b"], "UPDATE {schema}.threads SET last = 0 RETURNING id") == []
    for statement in ("UPDATE {schema}.events SET body = 'forged'", "DELETE FROM {schema}.events"):
        with pytest.raises(StoreError):
            sql(tenants["team_a"], statement)


def test_a_tenant_can_forget(tenants: dict[str, str]) -> None:
    with cf.open(tenants["team_a"], space="team-a") as store:
        thread = store.thread("a")
        thread.append({"role": "user", "content": "forget me"}, key="k")
        assert store.forget("a") == 1
        assert store.verify() == []
    assert sql(tenants["team_a"], "SELECT body, salt FROM {schema}.events") == [(None, b"")]


def test_only_a_role_that_exists_is_granted_anything(postgres_store: str) -> None:
    with pytest.raises(BadConfiguration, match="CREATE ROLE"):
        grant(postgres_store, role="nobody here", space="x")


def test_what_was_written_stays_even_for_the_owner(postgres_tables: str, space: str) -> None:
    with closing(open_postgres(postgres_tables, space=space)) as log:
        log.create(ThreadRow("a"))
        log.append("a", [message(b"1")], expected=0)
    with pytest.raises(StoreError, match="RestrictViolation"):
        sql(postgres_tables, "UPDATE {schema}.events SET body = 'forged'")
    with pytest.raises(StoreError, match="RestrictViolation"):
        sql(postgres_tables, "DELETE FROM {schema}.events")


# -- damage ------------------------------------------------------------------------------------------------------------


def test_a_forged_body_is_refused_when_it_is_read_and_found_when_verified(postgres_store: str) -> None:
    with closing(open_postgres(postgres_store)) as log:
        log.create(ThreadRow("a"))
        log.append("a", [message(b"1"), message(b"2", parent=1)], expected=0)
        sql(postgres_store, "ALTER TABLE {schema}.events DISABLE TRIGGER ALL")
        sql(postgres_store, "UPDATE {schema}.events SET body = 'forged' WHERE seq = 2")
        assert log.bodies("a", [1]) == {1: b"1"}
        with pytest.raises(StoreError, match="Event 2"):
            log.bodies("a", [1, 2])
        assert {problem.rule for problem in log.verify()} == {"chain", "list"}


def test_a_lost_end_is_told_instead_of_tried_for_ever(postgres_store: str) -> None:
    with closing(open_postgres(postgres_store)) as log:
        log.create(ThreadRow("a"))
        log.append("a", [message(b"1"), message(b"2", parent=1)], expected=0)
        sql(postgres_store, "ALTER TABLE {schema}.events DISABLE TRIGGER ALL")
        sql(postgres_store, "DELETE FROM {schema}.events WHERE seq = 2")
        with pytest.raises(StoreError, match="Event 2"):
            log.append("a", [message(b"x")], expected=1)
        assert [problem.rule for problem in log.verify()] == ["list"]


# -- the feed ----------------------------------------------------------------------------------------------------------


def test_a_follower_misses_nothing_that_commits_late(postgres_tables: str, space: str) -> None:
    """A transaction that began earlier may commit later: until it does, nothing after it is told."""
    with (
        closing(open_postgres(postgres_tables, space=space)) as slow,
        closing(open_postgres(postgres_tables, space=space)) as quick,
    ):
        for name in ("a", "b"):
            slow.create(ThreadRow(name))
        cursor = quick.changes()[-1].cursor
        with slow.batch():
            slow.append("a", [message(b"early")], expected=0)
            quick.append("b", [message(b"late")], expected=0)
            assert quick.changes(after=cursor) == []
        assert [change.thread for change in quick.changes(after=cursor)] == ["a", "b"]


def test_lists_come_from_the_replica_and_nothing_else_does(
    postgres_server: PostgresServer, postgres_tables: str, space: str
) -> None:
    away = quote("postgresql://owner@127.0.0.1:9/postgres?sslmode=disable&patience=0", safe="")
    with closing(open_postgres(f"{postgres_tables}&replica={away}", space=space)) as log:
        log.create(ThreadRow("a"))
        (written,) = log.append("a", [message(b"1")], expected=0)
        assert isinstance(written, Logged)
        for attempt in (lambda: log.page(ThreadPage()), log.changes):
            with pytest.raises(StoreError, match="cannot be reached"):
                attempt()
    here = quote(postgres_server.address, safe="")
    with closing(open_postgres(f"{postgres_tables}&replica={here}", space=space)) as log:
        assert [row.name for row in log.page(ThreadPage("activity"))] == ["a"]


# -- a pooler ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pooler(postgres_server: PostgresServer) -> Iterator[str]:
    """Where PgBouncer is, in transaction mode: each transaction may have another connection.

    A socket in a directory of ours, since a port that was free a moment ago may be somebody else's.
    """
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not here: install Debian's pgbouncer.")
    directory, port = postgres_server.directory, 6432
    settings = directory / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\npostgres = host={directory} user=owner\n"
        f"[pgbouncer]\nlisten_addr =\nlisten_port = {port}\nunix_socket_dir = {directory}\n"
        f"auth_type = any\npool_mode = transaction\ndefault_pool_size = 3\n"
        f"ignore_startup_parameters = extra_float_digits\n[users]\n"
    )
    settings.chmod(0o644)
    shutil.chown(settings, directory.owner())
    running = subprocess.Popen(
        [program, str(settings)], user=directory.owner(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 60
        while not (directory / f".s.PGSQL.{port}").is_socket():
            if running.poll() is not None or time.monotonic() > until:
                pytest.skip("PgBouncer does not start here.")
            threading.Event().wait(0.05)
        yield f"{quote(str(directory), safe='')}:{port}"
    finally:
        running.terminate()
        running.wait(60)


def test_everything_works_behind_a_pooler_in_transaction_mode(pooler: str, postgres_tables: str, space: str) -> None:
    schema = PostgresSettings.of(postgres_tables).schema
    address = f"postgresql://owner:any@{pooler}/postgres?pooler=transaction&schema={schema}"
    stores = [cf.open(address, space=space) for _ in range(3)]
    for number in range(12):
        thread = stores[number % 3].thread("a", model="claude-sonnet-4-5")
        thread.append({"role": "user", "content": f"{number}"})
        assert len(thread.view) == number + 1  # what another one wrote is seen, whatever connection it is asked on
    with stores[0].batch():
        stores[0].thread("b").append({"role": "user", "content": "in a batch"})
    assert stores[1].forget("b") == 1
    assert stores[2].verify() == []
    for store in stores:
        store.close()


# -- settings ----------------------------------------------------------------------------------------------------------


def test_an_address_is_taken_apart() -> None:
    settings = PostgresSettings.of(
        "postgresql://u:p@h1,h2:5433/db?target_session_attrs=read-write&schema=mine&pool_size=9&statement_timeout=2.5"
        "&patience=1&prepare_threshold=0&notify=yes"
    )
    assert settings.dsn == "postgresql://u:p@h1,h2:5433/db?target_session_attrs=read-write&sslmode=require"
    assert (settings.schema, settings.pool_size, settings.statement_timeout) == ("mine", 9, 2.5)
    assert (settings.patience, settings.prepare_threshold, settings.notify) == (1.0, 0, True)
    assert "statement_timeout=2500" in settings.connect_with()["options"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:6432", "[::1]:5432", "%2Frun%2Fpostgresql", ""])
def test_tls_is_asked_for_unless_nothing_leaves_the_machine(host: str) -> None:
    assert "sslmode" not in PostgresSettings.of(f"postgresql://{host}/db").dsn
    assert "sslmode=require" in PostgresSettings.of("postgresql://u@10.0.0.7/db").dsn
    assert "sslmode=require" not in PostgresSettings.of("postgresql://u@10.0.0.7/db?sslmode=verify-full").dsn


def test_a_pooler_gets_no_options_and_no_prepared_statements() -> None:
    settings = PostgresSettings.of("postgresql://localhost/db?pooler=transaction")
    assert settings.prepare_threshold is None
    assert "options" not in settings.connect_with()


@pytest.mark.parametrize(
    "wrong", ["schema=No-Schema", "pool_size=0", "pool_size=x", "patience=-1", "pooler=statement", "notify=1"]
)
def test_a_value_that_cannot_be_is_refused(wrong: str) -> None:
    with pytest.raises(BadConfiguration):
        PostgresSettings.of(f"postgresql://localhost/db?{wrong}")


def test_no_error_and_no_name_shows_a_password(postgres_server: PostgresServer) -> None:
    for host in ("127.0.0.1:9", quote(str(postgres_server.directory), safe="")):
        address = f"postgresql://owner:hunter2@{host}/nowhere?patience=0&sslmode=disable"
        with pytest.raises(StoreError) as caught:
            cf.open(address)
        assert "hunter2" not in str(caught.value)
        assert "owner@" in str(caught.value)


def test_a_statement_that_takes_too_long_is_ended(postgres_tables: str) -> None:
    settings = PostgresSettings.of(f"{postgres_tables}&statement_timeout=0.05")
    with closing(Connections(settings)) as connections, pytest.raises(StoreError, match="statement_timeout"):
        connections.once("SELECT pg_sleep(5)")


def test_a_store_opened_to_be_read_refuses_every_write(postgres_tables: str, space: str) -> None:
    with cf.open(postgres_tables, space=space) as store:
        store.thread("a").append({"role": "user", "content": "1"})
    with cf.open(postgres_tables, space=space, read_only=True) as store:
        thread = store.thread("a")
        assert len(thread.view) == 1
        for attempt in (
            lambda: thread.append({"role": "user", "content": "2"}),
            lambda: store.forget("a"),
            lambda: store.archive("a"),
            lambda: store.rename("a", "b"),
        ):
            with pytest.raises(ReadOnly, match="read_only"):
                attempt()
        with pytest.raises(NotFound):
            store.thread("new")


def test_a_backup_is_the_servers_own(postgres_tables: str, space: str, tmp_path: Path) -> None:
    with cf.open(postgres_tables, space=space) as store, pytest.raises(BadConfiguration, match="Export"):
        store.backup(tmp_path / "copy.db")


def test_whoever_waits_for_changes_is_woken_where_that_is_asked_for(postgres_tables: str, space: str) -> None:
    settings = PostgresSettings.of(postgres_tables)
    with psycopg.connect(settings.dsn, autocommit=True) as listening:
        listening.execute("LISTEN contextfold")
        with closing(open_postgres(f"{postgres_tables}&notify=yes", space=space)) as log:
            log.create(ThreadRow("a"))
            log.append("a", [message(b"1")], expected=0)
            woken = list(listening.notifies(timeout=60, stop_after=1))
        assert [each.channel for each in woken] == ["contextfold"]
    with closing(open_postgres(postgres_tables, space=space)) as log:
        assert log.spaces().count(space) == 1


def test_a_pool_that_is_used_up_says_so(postgres_tables: str) -> None:
    settings = PostgresSettings.of(f"{postgres_tables}&pool_size=1&patience=0.05&statement_timeout=0.05")
    connections = Connections(settings)
    with connections.leased(), pytest.raises(StoreError, match="pool_size"):
        connections.once("SELECT 1")
    connections.close()
    with pytest.raises(StoreError, match="closed"):
        connections.once("SELECT 1")
