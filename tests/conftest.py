"""What every test may lean on: the recorded sessions kept beside the repository, and Hypothesis profiles."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres_server import PostgresServer, drop_schema, running_server, schema_of

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"
SOAK = int(os.environ.get("CONTEXTFOLD_SOAK", "1"))

# Speed is measured in benchmarks/, never by a test that fails on a busy machine.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "soak",
    settings.get_profile("ci"),
    derandomize=False,
    max_examples=100 * SOAK,
)
settings.load_profile("soak" if SOAK > 1 else "ci")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The directory of recorded sessions; without it, tests that read them are skipped."""
    if not SHARED_DATA.is_dir():
        pytest.skip("The recorded sessions are not here: expected ../shared/data beside the repository.")
    return SHARED_DATA


@pytest.fixture(autouse=True, scope="session")
def _interruptible() -> Iterator[None]:
    """A shell that starts tests in the background has them ignore Ctrl-C, and so would every process they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL of the tests' own, that may be stopped and killed if it is started again."""
    pytest.importorskip("psycopg", reason="Tests of PostgreSQL need contextfold[postgres].")
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_address(request: pytest.FixtureRequest) -> str:
    """Where a superuser reaches a PostgreSQL: the one that `CONTEXTFOLD_POSTGRES` names, else one of our own."""
    pytest.importorskip("psycopg", reason="Tests of PostgreSQL need contextfold[postgres].")
    named = os.environ.get("CONTEXTFOLD_POSTGRES")
    return named or str(request.getfixturevalue("postgres_server").address)


@pytest.fixture(scope="session")
def postgres_tables(postgres_address: str) -> Iterator[str]:
    """The address of a store that all tests share: each uses a space of its own."""
    from contextfold.logs.postgres import migrate  # noqa: PLC0415  # an extra

    address = schema_of(postgres_address)
    migrate(address)
    yield address
    drop_schema(address)


@pytest.fixture
def postgres_store(postgres_address: str) -> Iterator[str]:
    """The address of an empty store, in a schema that goes with the test."""
    from contextfold.logs.postgres import migrate  # noqa: PLC0415  # an extra

    address = schema_of(postgres_address)
    migrate(address)
    yield address
    drop_schema(address)


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """No test leaves variables of the environment to the tests behind it: examples on pages set some."""
    before = dict(os.environ)
    yield
    if dict(os.environ) != before:
        os.environ.clear()
        os.environ.update(before)
