"""Workspaces for tests: what is in one, byte for byte, and one full of traps."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

SECRET = "sk-ant-" + "a1B2" * 12


def contents(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and link with its mode and bytes; the target of a link, not what is behind it."""
    found: dict[str, tuple[int, bytes]] = {}
    for directory, names, files in os.walk(root):
        links = [name for name in names if (Path(directory) / name).is_symlink()]
        for path in (Path(directory) / name for name in (*files, *links)):
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                found[str(path.relative_to(root))] = (0, os.fsencode(path.readlink()))
            elif stat.S_ISREG(mode):
                found[str(path.relative_to(root))] = (mode & 0o111, path.read_bytes())
    return found


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def git(root: Path, *arguments: str) -> str:
    """The user's own git, as a user would run it."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def trap(root: Path, outside: Path) -> None:
    """Everything that ever made another tool's snapshots leak, hang, write elsewhere or lose something."""
    canary = outside / "fired"
    write(root, {"main.py": "print(1)\n", "run.sh": "#!/bin/sh\n", ".gitignore": "ignored/\n*.log\n"})
    (root / "run.sh").chmod(0o755)
    git(root, "init", "-q")
    write(root, {".gitattributes": "*.py filter=evil\n*.txt text eol=crlf\n", "line.txt": "a\r\nb\n"})
    git(root, "config", "filter.evil.clean", f"touch {canary}; cat")
    git(root, "config", "filter.evil.smudge", f"touch {canary}; cat")
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        write(root, {f".git/hooks/{hook}": f"#!/bin/sh\ntouch {canary}\n"})
        (root / ".git" / "hooks" / hook).chmod(0o755)
    write(root, {".git/info/exclude": "mine-alone.txt\n", "mine-alone.txt": "x", "ignored/a": "x", "b.log": "x"})
    write(
        root,
        {
            ".env": "FIRST=hidden",
            "deep/er/.env.production": "OTHER=hidden",
            "deep/tls.pem": "x",
            "deep/leak.md": f"key {SECRET}",
        },
    )
    write(root, {"nested/src/a.py": "a = 1\n", "nested/.gitignore": "build/\n", "nested/build/b": "b"})
    write(root, {"nested/.env": "THIRD=hidden", "nested/id_rsa": "x"})
    git(root / "nested", "init", "-q")
    write(root, {"pointer/.git": "gitdir: /nowhere/at/all\n", "pointer/p.py": "p = 1\n"})
    with (root / "large.bin").open("wb") as file:
        file.truncate(25_000_000)
    (root / "inside").symlink_to("main.py")
    (root / "dangling").symlink_to("nowhere")
    (root / "out").symlink_to(outside)
    write(root, {"new\nline '\" ümlaut.txt": "odd\n", ":(glob)*": "magic\n", "-rf": "dash\n"})
    (root / os.fsdecode(b"not-\xff-utf8")).write_text("bytes\n")
    os.mkfifo(root / "pipe")
    (root / "empty").mkdir()


SECRETS = {".env", "deep/er/.env.production", "deep/tls.pem", "deep/leak.md", "nested/.env", "nested/id_rsa"}
IGNORED = {"ignored/a", "b.log", "mine-alone.txt", "nested/build/b"}
