"""The tables, made and changed by migrations that are numbered, only added, and never run by surprise.

Migrations run under a lock of the server, all in one transaction: whoever comes second finds them done. Opening a store
only looks at the version. Rows carry the number of their space in front, so that they can be kept apart by row-level
security, by partition or by shard.
"""

from __future__ import annotations

from typing import Any, Final, LiteralString

from msgspec import Struct

from contextfold.errors import BadConfiguration, StoreError, TooNew

from .connections import Connection, Connections
from .settings import PostgresSettings

# `moment` numbers everything that happens, in the order of transactions: the transaction's own number, then the place
# in it. A sequence would let a later number be seen before an earlier one, and whoever follows would miss that.
MOMENT_BITS: Final = 22

_TABLES: LiteralString = """
CREATE TABLE {schema}.spaces (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name bytea NOT NULL,
    base bigint NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX spaces_by_name ON {schema}.spaces (sha256(name));

CREATE TABLE {schema}.threads (
    id bigint GENERATED ALWAYS AS IDENTITY,
    start bigint NOT NULL,
    last bigint NOT NULL,
    changed bigint NOT NULL,
    messages bigint NOT NULL DEFAULT 0,
    folds bigint NOT NULL DEFAULT 0,
    size bigint NOT NULL DEFAULT 0,
    erased bigint NOT NULL DEFAULT 0,
    created double precision NOT NULL,
    at double precision NOT NULL,
    origin bigint,
    space integer NOT NULL,
    archived boolean NOT NULL DEFAULT false,
    forgotten boolean NOT NULL DEFAULT false,
    link bytea NOT NULL,
    base bytea NOT NULL,
    name bytea NOT NULL,
    title bytea NOT NULL,
    settings bytea NOT NULL,
    PRIMARY KEY (space, id)
) WITH (fillfactor = 80);
CREATE INDEX threads_in_order ON {schema}.threads (space, archived, changed);
CREATE INDEX threads_by_origin ON {schema}.threads (space, origin) WHERE origin IS NOT NULL;

CREATE TABLE {schema}.names (
    thread bigint NOT NULL,
    space integer NOT NULL,
    is_title boolean NOT NULL,
    digest bytea NOT NULL,
    name bytea NOT NULL,
    PRIMARY KEY (space, digest)
);
CREATE INDEX names_in_order ON {schema}.names (space, substring(name, 1, 200)) WHERE is_title;

CREATE TABLE {schema}.events (
    thread bigint NOT NULL,
    seq bigint NOT NULL,
    parent bigint NOT NULL,
    moment bigint NOT NULL,
    at double precision NOT NULL,
    space integer NOT NULL,
    step integer NOT NULL,
    link bytea NOT NULL,
    event bytea NOT NULL,
    salt bytea NOT NULL,
    key bytea,
    committed bytea,
    body bytea,
    PRIMARY KEY (space, thread, seq)
);
CREATE UNIQUE INDEX events_by_key ON {schema}.events (space, thread, sha256(key)) WHERE key IS NOT NULL;
CREATE INDEX events_in_order ON {schema}.events (space, moment);
CREATE INDEX events_forgotten ON {schema}.events (space, thread, seq) WHERE committed IS NOT NULL;
CREATE INDEX events_sent ON {schema}.events (space, thread, seq) WHERE substring(event, 1, 7) = '["sent"'::bytea;

CREATE TABLE {schema}.happenings (
    moment bigint NOT NULL,
    thread bigint NOT NULL,
    space integer NOT NULL,
    PRIMARY KEY (space, moment)
);

CREATE TABLE {schema}.blobs (
    space integer NOT NULL,
    digest bytea NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (space, digest)
);

CREATE TABLE {schema}.tenants (
    space integer NOT NULL,
    role name NOT NULL,
    PRIMARY KEY (role, space)
);
"""

# What was written stays, also for whoever has a connection of their own. An event changes only by being forgotten.
_GUARDS: LiteralString = """
CREATE FUNCTION {schema}.events_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.committed IS NOT NULL AND NEW.body IS NULL AND NEW.salt = ''
        AND (NEW.space, NEW.thread, NEW.seq, NEW.parent, NEW.step, NEW.at, NEW.moment, NEW.link)
        = (OLD.space, OLD.thread, OLD.seq, OLD.parent, OLD.step, OLD.at, OLD.moment, OLD.link) THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' AND current_setting('contextfold.seals_anew', true) = OLD.thread::text
        AND NEW.body IS NOT NULL AND OLD.body IS NOT NULL AND NEW.committed IS NULL
        AND (NEW.space, NEW.thread, NEW.seq, NEW.parent, NEW.step, NEW.at, NEW.moment, NEW.link, NEW.event, NEW.salt)
        = (OLD.space, OLD.thread, OLD.seq, OLD.parent, OLD.step, OLD.at, OLD.moment, OLD.link, OLD.event, OLD.salt) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'events never change unless they are forgotten' USING ERRCODE = '23001';
END $$;
CREATE TRIGGER events_stay BEFORE UPDATE OR DELETE ON {schema}.events
    FOR EACH ROW EXECUTE FUNCTION {schema}.events_stay();
"""

# The owner of the tables sees every space; any other role sees those that were granted to it, whatever SQL it sends.
_WALLS: LiteralString = """
ALTER TABLE {schema}.spaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.threads ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.names ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.events ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.happenings ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.blobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON {schema}.tenants USING (role = current_user);
CREATE POLICY own ON {schema}.spaces USING (id = ANY (ARRAY(SELECT space FROM {schema}.tenants)));
CREATE POLICY own ON {schema}.threads USING (space = ANY (ARRAY(SELECT space FROM {schema}.tenants)));
CREATE POLICY own ON {schema}.names USING (space = ANY (ARRAY(SELECT space FROM {schema}.tenants)));
CREATE POLICY own ON {schema}.events USING (space = ANY (ARRAY(SELECT space FROM {schema}.tenants)));
CREATE POLICY own ON {schema}.happenings USING (space = ANY (ARRAY(SELECT space FROM {schema}.tenants)));
CREATE POLICY own ON {schema}.blobs USING (space = ANY (ARRAY(SELECT space FROM {schema}.tenants)));
"""

# The key that bodies of a thread are sealed with; empty where they are kept as they are.
_SEALS: LiteralString = "ALTER TABLE {schema}.threads ADD COLUMN sealed_by bytea NOT NULL DEFAULT ''"

# What recall computes from events: see passages.py.
_PASSAGES: LiteralString = """
CREATE TABLE {schema}.indexed (
    thread bigint NOT NULL,
    seq bigint NOT NULL DEFAULT 0,
    passages bigint NOT NULL DEFAULT 0,
    words bigint NOT NULL DEFAULT 0,
    at double precision NOT NULL DEFAULT 0,
    sitting integer NOT NULL DEFAULT 0,
    version integer NOT NULL DEFAULT 0,
    space integer NOT NULL,
    PRIMARY KEY (space, thread)
);
CREATE TABLE {schema}.passages (
    thread bigint NOT NULL,
    seq bigint NOT NULL,
    place bigint NOT NULL,
    block integer NOT NULL,
    start integer NOT NULL,
    sitting integer NOT NULL,
    words integer NOT NULL,
    space integer NOT NULL,
    speaker bytea NOT NULL,
    terms tsvector NOT NULL,
    PRIMARY KEY (space, thread, place)
);
CREATE INDEX passages_by_seq ON {schema}.passages (space, thread, seq);
CREATE INDEX passages_by_term ON {schema}.passages USING gin (terms);
ALTER TABLE {schema}.indexed ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.passages ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON {schema}.indexed USING (space = ANY (ARRAY(SELECT space FROM {schema}.tenants)));
CREATE POLICY own ON {schema}.passages USING (space = ANY (ARRAY(SELECT space FROM {schema}.tenants)));
"""
# Roles that were given a space before these tables were there.
_GRANT_PASSAGES_AGAIN: LiteralString = """
DO $$ DECLARE tenant name; BEGIN
    FOR tenant IN SELECT DISTINCT role FROM {schema}.tenants LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s, %s TO %I',
            '{schema}.indexed'::regclass, '{schema}.passages'::regclass, tenant);
    END LOOP;
END $$;
"""

# Row-level security lets no operator near an index that could tell of other rows, and the one that compares terms is
# such: a tenant's question would read whole tables. This function asks the index on the tenant's behalf, for its own
# spaces only. Inside of it `current_user` is its owner; whoever asks is the role that was set, or logged in.
_SEARCH: LiteralString = """
CREATE FUNCTION {schema}.passages_holding(asked tsquery, of_space integer, of_thread bigint)
RETURNS TABLE (thread bigint, place bigint, words integer, terms tsvector)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asker CONSTANT name := coalesce(nullif(current_setting('role'), 'none'), session_user);
BEGIN
    IF NOT EXISTS (SELECT FROM {schema}.tenants AS t WHERE t.role = asker AND t.space = of_space)
        AND NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = '{schema}.passages'::regclass
            AND pg_has_role(asker, c.relowner, 'USAGE')) THEN
        RETURN;
    END IF;
    IF of_thread IS NULL THEN
        RETURN QUERY SELECT p.thread, p.place, p.words, p.terms FROM {schema}.passages AS p
            WHERE p.terms @@ asked AND p.space = of_space;
    ELSE
        RETURN QUERY SELECT p.thread, p.place, p.words, p.terms FROM {schema}.passages AS p
            WHERE p.terms @@ asked AND p.space = of_space AND p.thread = of_thread;
    END IF;
END $$;
REVOKE ALL ON FUNCTION {schema}.passages_holding FROM PUBLIC;
DO $$ DECLARE tenant name; BEGIN
    FOR tenant IN SELECT DISTINCT role FROM {schema}.tenants LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I',
            '{schema}.passages_holding(tsquery, integer, bigint)'::regprocedure, tenant);
    END LOOP;
END $$;
"""

MIGRATIONS: Final[tuple[LiteralString, ...]] = (
    _TABLES + _GUARDS + _WALLS,
    _SEALS,
    _PASSAGES + _GRANT_PASSAGES_AGAIN,
    _SEARCH,
)
VERSION: Final = len(MIGRATIONS)

_LOCK: LiteralString = "SELECT pg_advisory_xact_lock(hashtextextended('contextfold migrations ' || %s, 0))"
_HAS_TABLE: LiteralString = "SELECT to_regclass(%s) IS NOT NULL"
_VERSION: LiteralString = "SELECT max(version) FROM {schema}.migrations"
_BEGIN: LiteralString = """
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE IF NOT EXISTS {schema}.migrations (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
"""
_DONE: LiteralString = "INSERT INTO {schema}.migrations (version) VALUES (%s)"
# A dump that was restored into another server brings moments that lie in that one's future.
_LIFT: LiteralString = (
    "UPDATE {schema}.spaces AS s SET base = (found.moment >> 22) + 1 FROM ("
    " SELECT space, max(moment) AS moment FROM ("
    "  SELECT space, max(changed) AS moment FROM {schema}.threads GROUP BY space"
    "  UNION ALL SELECT space, max(moment) FROM {schema}.happenings GROUP BY space) AS each GROUP BY space"
    ") AS found WHERE s.id = found.space AND (found.moment >> 22) > s.base + pg_current_xact_id()::text::bigint"
)
_GRANT: LiteralString = """
GRANT USAGE ON SCHEMA {schema} TO {role};
GRANT SELECT ON {schema}.migrations, {schema}.spaces, {schema}.tenants TO {role};
GRANT SELECT, INSERT, UPDATE ON {schema}.threads, {schema}.names, {schema}.events TO {role};
GRANT SELECT, INSERT ON {schema}.happenings TO {role};
GRANT SELECT, INSERT, DELETE ON {schema}.blobs TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.indexed, {schema}.passages TO {role};
GRANT EXECUTE ON FUNCTION {schema}.passages_holding TO {role};
"""
_TENANT: LiteralString = "INSERT INTO {schema}.tenants (space, role) VALUES (%s, %s) ON CONFLICT DO NOTHING"
SPACE: LiteralString = "SELECT id, base FROM {schema}.spaces WHERE sha256(name) = sha256(%s)"
NEW_SPACE: LiteralString = "INSERT INTO {schema}.spaces (name) VALUES (%s) ON CONFLICT DO NOTHING"


class Migration(Struct, frozen=True):
    """Where a store stands, and where this version wants it."""

    found: int
    wanted: int = VERSION

    @property
    def is_needed(self) -> bool:
        return self.found < self.wanted


def migrate(address: str, *, check: bool = False) -> Migration:
    """Bring a store up to this version, or with `check` only tell how far it is; what was found before."""
    connections = Connections(PostgresSettings.of(address))
    try:
        if check:
            return Migration(connections.retried(lambda: version_of(connections)))
        with connections.transaction() as connection:
            connection.execute(_LOCK, (connections.settings.schema,))
            found = version_of(connections)
            _refuse_newer(found, connections.where)
            connection.execute(connections.text(_BEGIN))
            for number in range(found, VERSION):
                connection.execute(connections.text(MIGRATIONS[number]))
                connection.execute(connections.text(_DONE), (number + 1,))
            connection.execute(connections.text(_LIFT))
        return Migration(found)
    finally:
        connections.close()


def version_of(connections: Connections) -> int:
    """The version of the tables; 0 where there are none."""
    name = f"{connections.settings.schema}.migrations"
    with connections.leased() as connection:
        if not _value(connection, _HAS_TABLE.encode(), name):
            return 0
        found: int | None = _value(connection, connections.text(_VERSION))
        return found or 0


def refuse_other_versions(found: int | None, where: str) -> None:
    """A store that this version cannot use as it is."""
    if not found:
        raise StoreError(f"{where} holds no contextfold store. Make one with `contextfold migrate`.")
    _refuse_newer(found, where)
    if found < VERSION:
        raise StoreError(
            f"{where} is of version {found}, and this contextfold wants {VERSION}. Run `contextfold migrate`."
        )


def _refuse_newer(found: int, where: str) -> None:
    if found > VERSION:
        raise TooNew(f"{where} was made by a newer contextfold (version {found}). Use that one.")


def grant(address: str, *, role: str, space: str) -> None:
    """Let a role that is neither superuser nor owner use one space, and see nothing of any other."""
    connections = Connections(PostgresSettings.of(address))
    try:
        refuse_other_versions(version_of(connections), connections.where)
        with connections.transaction() as connection:
            if not _value(connection, b"SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = %s)", role):
                raise BadConfiguration(f"There is no role {role!r} on this server. Make it with CREATE ROLE first.")
            name = space.encode("utf-8", "surrogatepass")
            connection.execute(connections.text(NEW_SPACE), (name,))
            number = _value(connection, connections.text(SPACE), name)
            connection.execute(connections.text(_GRANT, role=role))
            connection.execute(connections.text(_TENANT), (number, role))
    finally:
        connections.close()


def _value(connection: Connection, statement: bytes, *values: object) -> Any:
    found = connection.execute(statement, values or None).fetchone()
    return None if found is None else found[0]
