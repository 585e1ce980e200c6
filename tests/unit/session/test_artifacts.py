"""A large output that is put aside in a file is nobody's but its owner's."""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_IMODE

import pytest

import contextfold as cf
from contextfold.folding import Offload


@pytest.mark.finding("H9")
@pytest.mark.skipif(os.name == "nt", reason="files have no such modes there")
def test_an_artifact_is_readable_by_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with cf.Session.open(model="claude-sonnet-4-5", policy="claude_code", artifacts=tmp_path / "aside") as session:
            session.append({"role": "user", "content": "Run it."})
            use = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "make"}}
            session.append({"role": "assistant", "content": [use]})
            output = "\n".join(f"line {number} of the secret output" for number in range(20_000))
            result = {"type": "tool_result", "tool_use_id": "c1", "content": output}
            session.append({"role": "user", "content": [result]})
            session.prepare(max_tokens=500)
    finally:
        os.umask(before)
    (artifact,) = (tmp_path / "aside").iterdir()
    assert "secret output" in artifact.read_text()
    assert S_IMODE(artifact.stat().st_mode) == 0o600
    assert S_IMODE(artifact.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(("door", "aside"), [(Offload(over=100), 1), (Offload(over=100_000), 0), (None, 0)])
def test_a_directory_for_outputs_leaves_it_to_the_policy_which_go_there(
    tmp_path: Path, door: Offload | None, aside: int
) -> None:
    policy = cf.recipes.balanced().with_(door=door)
    with cf.Session.open(model="claude-sonnet-4-5", policy=policy, artifacts=tmp_path) as session:
        session.append({"role": "user", "content": "Run it."})
        use = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "make"}}
        session.append({"role": "assistant", "content": [use]})
        output = "\n".join(f"line {number} of the output" for number in range(500))
        session.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": output}]})
        session.prepare(max_tokens=500)
    assert len(list(tmp_path.iterdir())) == aside
