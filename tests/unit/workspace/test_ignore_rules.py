"""Ignore files, as git reads them and as agents use them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from contextfold.workspace.ignore_rules import is_ignored
from tests.effort import least, walk

CASES = [
    ("*.log", "a.log", True),
    ("*.log", "deep/down/a.log", True),
    ("*.log", "a.log.txt", False),
    ("/top.txt", "top.txt", True),
    ("/top.txt", "sub/top.txt", False),
    ("build/", "build/out/a.o", True),
    ("build/", "build", False),
    ("docs/*.md", "docs/a.md", True),
    ("docs/*.md", "docs/sub/a.md", False),
    ("docs/**", "docs/sub/a.md", True),
    ("**/cache", "a/b/cache/x", True),
    ("a/**/z", "a/z", True),
    ("a/**/z", "a/b/c/z", True),
    ("file?.py", "file1.py", True),
    ("file[0-3].py", "file2.py", True),
    ("file[!0-3].py", "file2.py", False),
    ("# comment", "# comment", False),
    ("\\#kept", "#kept", True),
    ("*.log\n!keep.log", "keep.log", False),
    ("dir/\n!dir/keep", "dir/keep", True),
]


@pytest.mark.parametrize(("rules", "path", "ignored"), CASES)
def test_rules_mean_what_they_mean_to_git(tmp_path: Path, rules: str, path: str, ignored: bool) -> None:
    (tmp_path / ".gitignore").write_text(rules + "\n")
    assert is_ignored(tmp_path, path) is ignored


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_generated_rules_and_paths_agree_with_git(tmp_path: Path) -> None:
    random = Random(5)
    names = ["a", "b", "log", "a.log", "x.py"]
    pieces = [*names, "*", "*.log", "?", "**", "[ab]"]
    lines = []
    for _ in range(40):
        inner = "/".join(random.choices(pieces, k=random.randrange(1, 4)))
        lines.append(random.choice(["", "", "!", "/"]) + inner + random.choice(["", "", "/"]))
    paths = sorted({"/".join(random.choices(names, k=random.randrange(1, 5))) for _ in range(200)})
    git = ["git", "-c", "core.excludesFile=/dev/null"]
    subprocess.run([*git, "init", "-q", str(tmp_path)], check=True)
    for size in range(1, len(lines), 8):
        (tmp_path / ".gitignore").write_text("\n".join(lines[:size]) + "\n")
        asked = subprocess.run(
            [*git, "check-ignore", "--no-index", "--stdin"],
            cwd=tmp_path,
            input="\n".join(paths),
            capture_output=True,
            text=True,
            check=False,
        )
        assert [path for path in paths if is_ignored(tmp_path, path)] == asked.stdout.splitlines(), lines[:size]


@pytest.mark.finding("N14")
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_odd_rules_and_paths_agree_with_git(tmp_path: Path) -> None:
    random = Random(14)
    names = ["a", "b", "x y", "]", "a]", "-", "log ", "a.log", "\\", "!a", "#b", "a-b", "0", "Z", "*", "[", "dir"]
    signs = ["a", "b", "]", "[", "-", "\\", " ", "*", "**", "?", "/", "!", "^", "#", "0", "Z", ".log", "[a-c]", "[!a]"]
    signs += ["[]a]", "[^]]", "[[:alpha:]]", "x\\ y", "\\*", "[a\\]b]", "**/", "/**"]
    paths = sorted({"/".join(random.choices(names, k=random.randrange(1, 4))) for _ in range(150)})
    git = ["git", "-c", "core.excludesFile=/dev/null"]
    subprocess.run([*git, "init", "-q", str(tmp_path)], check=True)
    for _ in range(80):
        rules = ["".join(random.choices(signs, k=random.randrange(1, 6))) for _ in range(4)]
        if any(rule.count("*") > 4 for rule in rules):
            continue
        (tmp_path / ".gitignore").write_text("\n".join(rules) + "\n")
        asked = subprocess.run(
            [*git, "check-ignore", "--no-index", "-z", "--stdin"],
            cwd=tmp_path,
            input="".join(f"./{path}\0" for path in paths),
            capture_output=True,
            text=True,
            check=False,
        )
        named = [each.removeprefix("./") for each in asked.stdout.split("\0")[:-1]]
        assert [path for path in paths if is_ignored(tmp_path, path)] == named, rules


def test_agents_have_ignore_files_of_their_own_at_every_depth(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".rooignore").write_text("private\n")
    assert is_ignored(tmp_path, "sub/private/x")
    assert not is_ignored(tmp_path, "private/x")


@pytest.mark.finding("K2")
@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("*a*a*a*a*a*a*b", "a" * 250),
        ("**/a/**/a/**/a/**/a/**/a/**/b", "a/" * 40 + "c"),
        ("**/*a*a*a*/**/*a*a*/b", "aaaa/" * 40 + "c"),
    ],
)
def test_a_rule_with_many_stars_is_kept_and_costs_little(tmp_path: Path, rule: str, path: str) -> None:
    (tmp_path / ".gitignore").write_text(f"{rule}\n")
    found: list[bool] = []
    assert least(lambda: found.extend(is_ignored(tmp_path, each) for each in (path, path[:-1] + "b"))) < 100 * walk()
    assert found == [False, True]
