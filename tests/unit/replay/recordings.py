"""Recorded sessions for tests: generated work of an agent, written down the way products do."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from contextfold.replay import Settings
from contextfold.testing import histories

POLICIES = ("balanced", "sliding_window")
SETTINGS = Settings(policies=POLICIES, window=9_000, model="claude-sonnet-4-5")
SUMMARY = "The user wants the shop fixed; src/shop/orders/models.py was changed."


def plain(folder: Path, name: str = "session.jsonl", *, seed: int = 1, tokens: int = 12_000) -> Path:
    """A session as JSON lines of messages."""
    path = folder / name
    path.write_text("".join(json.dumps(message) + "\n" for message in history(seed, tokens)), "utf-8")
    return path


NAMES = (
    "alpha_ledger.toml",
    "beta_parser.go",
    "gamma_import.sql",
    "delta_export.csv",
    "epsilon_cache.rs",
    "zeta_index.md",
)


def history(seed: int = 1, tokens: int = 12_000) -> Sequence[Mapping[str, Any]]:
    """Work of an agent that is told six names at the beginning and uses them at the end."""
    messages = [dict(message) for message in histories.session(seed, tokens=tokens, language="en")]
    messages[0]["content"] += f"\n\nPlease never touch these files: {', '.join(NAMES)}."
    for name in NAMES[::2]:
        other = NAMES[NAMES.index(name) + 1]
        messages.append({"role": "user", "content": "And the next two?"})
        messages.append({"role": "assistant", "content": f"I left {name} and {other} as they were."})
    return messages


def claude_code(folder: Path, name: str = "claude.jsonl", *, compacted: bool = True, pause: float = 0.0) -> Path:
    """A session as Claude Code writes it, with one compaction of its own, and billed usage."""
    rows: list[dict[str, Any]] = []
    parent: str | None = None
    messages = history(2)
    asked = [number for number, message in enumerate(messages) if isinstance(message["content"], str)]
    half = next(number for number in asked if number >= len(messages) // 2)
    for number, message in enumerate(messages):
        if compacted and number == half:
            rows += _compaction(parent)
            parent = "summary"
        rows.append(_line(message, number, parent, pause))
        parent = f"u{number}"
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def _line(message: Mapping[str, Any], number: int, parent: str | None, pause: float) -> dict[str, Any]:
    said = dict(message)
    if said["role"] == "assistant":
        usage = {"input_tokens": 3, "cache_read_input_tokens": 1_000, "cache_creation_input_tokens": 200}
        said |= {"id": f"msg{number}", "model": "claude-sonnet-4-5-20250929", "usage": {**usage, "output_tokens": 50}}
    minutes, seconds = divmod(number * pause, 60)
    return {
        "type": said["role"],
        "uuid": f"u{number}",
        "parentUuid": parent,
        "sessionId": "s",
        "timestamp": f"2026-01-02T{int(minutes) // 60:02}:{int(minutes) % 60:02}:{seconds:06.3f}Z",
        "message": said,
    }


def _compaction(parent: str | None) -> list[dict[str, Any]]:
    boundary: dict[str, Any] = {"type": "system", "subtype": "compact_boundary", "uuid": "boundary", "parentUuid": None}
    boundary |= {"logicalParentUuid": parent, "compactMetadata": {"trigger": "auto", "preTokens": 9_000}}
    summary: dict[str, Any] = {"type": "user", "uuid": "summary", "parentUuid": "boundary", "isCompactSummary": True}
    return [boundary, summary | {"message": {"role": "user", "content": SUMMARY}}]
