"""One minute with contextfold: `python -m contextfold.demo`.

Writes a thread in a process of its own, kills that process, opens the file again and shows that nothing was lost; then
folds, unfolds and rewinds. Everything it prints is checked while it runs; it exits with 1 when a check fails.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import contextfold
from contextfold.domain import encode
from contextfold.testing import histories

THREAD = "demo"
MODEL = "claude-sonnet-5-5"
SESSION_TOKENS = 60_000
KILLED_AFTER = 80  # acknowledged messages


def main(arguments: list[str]) -> int:
    """Run the demo; with `--write FILE`, be the writer that will be killed."""
    if arguments[:1] == ["--write"]:
        return write(Path(arguments[1]))
    directory = Path(arguments[0]) if arguments else Path(tempfile.mkdtemp(prefix="contextfold-demo-"))
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "demo.db"
    checks = [*crash(path), *travel(path)]
    for is_true, claim in checks:
        print(f"  {'ok  ' if is_true else 'FAIL'}  {claim}")
    print(f'\nThe store is {path}. Look at it with: python -c "import contextfold as cf;')
    print(f"  print(*cf.open('{path}').thread('{THREAD}').view.messages, sep='\\n')\"")
    return 0 if all(is_true for is_true, _ in checks) else 1


def write(path: Path) -> int:
    """Append a generated session as fast as it goes, saying each seq once it is acknowledged."""
    with contextfold.open(path) as store:
        thread = store.thread(THREAD, model=MODEL)
        for message in histories.session(7, tokens=SESSION_TOKENS):
            print(thread.append(message), flush=True)
    return 0


def crash(path: Path) -> list[tuple[bool, str]]:
    """Kill the writer in full flight and see what is left."""
    print("A writer appends a generated agent session and is killed with SIGKILL in the middle of it.")
    command = [sys.executable, "-m", "contextfold.demo", "--write", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        lines = writer.stdout or ()
        acknowledged = 0
        for line in lines:
            acknowledged = int(line)
            if acknowledged == KILLED_AFTER:
                writer.send_signal(signal.SIGKILL)
    expected = [encode(message) for message in histories.session(7, tokens=SESSION_TOKENS)]
    with contextfold.open(path) as store:
        thread = store.thread(THREAD)
        kept = [message.raw for message in thread.view.messages if message.kind == "message"]
        sound = store.verify()
        print(f"  acknowledged {acknowledged}, found {len(kept)}, {thread.view.count.tokens:,} tokens")
    return [
        (len(kept) >= acknowledged, f"every one of {acknowledged} acknowledged messages survived the kill"),
        (kept == expected[: len(kept)], "each is there byte for byte"),
        (sound == [], "the hash chain verifies"),
    ]


def travel(path: Path) -> list[tuple[bool, str]]:
    """Fold, unfold and rewind, and compare the views."""
    print("Then half of it is folded away, unfolded, rewound and redone.")
    with contextfold.open(path) as store:
        thread = store.thread(THREAD)
        before = thread.body(model=MODEL, max_tokens=1_000)
        view = thread.view
        cut = view.cut_at_or_before(view.length // 2)
        hidden = [item.seq for item in view.items[1:cut] if item.kind == "message"]
        fold = thread.fold(hidden, f"[{len(hidden)} messages are folded away here.]", kind="window")
        folded = thread.view.count.tokens
        print(f"  fold {fold} hides {len(hidden)} messages: {view.count.tokens:,} tokens become {folded:,}")
        thread.unfold(fold)
        unfolded = thread.body(model=MODEL, max_tokens=1_000)
        report = thread.rewind(before=hidden[-1])
        print(f"  rewound to {report.head}: {len(report.messages)} messages left behind, none deleted")
        thread.redo()
        back = thread.body(model=MODEL, max_tokens=1_000)
        return [
            (folded < view.count.tokens, "folding made the view smaller"),
            (unfolded == before, "unfolding brought back the same bytes"),
            (back == before, "rewind and redo end where they began"),
            (store.verify() == [], "the chain still verifies"),
        ]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
