"""A store to look at, made once; each test gets its own copy, or only looks."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .visitor import Visitor, inspector_of, make_store


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("inspector") / "agent.db"
    make_store(path)
    return path


@pytest.fixture
def store_path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "agent.db"))


@pytest.fixture
async def visitor(store_path: Path) -> AsyncIterator[Visitor]:
    """Somebody who is in, on a copy of the store."""
    found = await inspector_of(store_path).come_in()
    yield found
    await found.inspector.close()
