"""What is shipped: few dependencies, a lock and files that name no machine, a wheel that is the source."""

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import contextfold
from scripts.check_first_commands import first_commands
from scripts.check_wheel import differences, problems
from scripts.write_sbom import bom
from scripts.write_sbom import locked as pinned

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements" / "dev.txt").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MOST_DEPENDENCIES = 5


def name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found, requirement
    return found[0]


def locked() -> dict[str, list[str]]:
    """Each locked requirement with its hashes."""
    entries = [entry.split() for entry in LOCK.replace("\\\n", " ").splitlines() if entry.strip()]
    return {entry[0]: [word for word in entry if word.startswith("--hash=sha256:")] for entry in entries}


def tracked() -> Iterator[tuple[Path, str]]:
    """Every text file of the repository."""
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("Which files are ours is known to git only, and this is no clone.")
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for path in map(Path, listing.split("\0")[:-1]):
        if (ROOT / path).is_file():
            yield path, (ROOT / path).read_bytes().decode(errors="replace")


def test_two_builds_that_differ_in_one_byte_are_told_by_name() -> None:
    assert differences({"a.whl": b"1", "a.tar.gz": b"2"}, {"a.whl": b"1", "a.tar.gz": b"3"}) == [
        "two builds differ: a.tar.gz"
    ]
    assert differences({"a.whl": b"1"}, {}) == ["two builds differ: a.whl"]


def test_the_bill_of_materials_names_every_dependency_with_the_hashes_of_the_lock() -> None:
    listed = {each["name"]: each for each in bom(PROJECT, pinned(LOCK))["components"]}
    assert {name_of(each) for each in PROJECT["dependencies"]} <= listed.keys()
    assert all(listed[name_of(each)]["scope"] == "required" for each in PROJECT["dependencies"])
    assert all(each["hashes"] for each in listed.values())
    assert {each["content"] for each in listed["apsw"]["hashes"]} == {
        word.removeprefix("--hash=sha256:")
        for name, words in locked().items()
        if name_of(name) == "apsw"
        for word in words
    }


@pytest.mark.finding("N11", "N18")
@pytest.mark.parametrize("page", ["README.md", "README.ja.md"])
def test_the_front_page_begins_with_commands_that_work_in_a_clone(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    commands = first_commands(text)
    assert [line.split("  ")[0] for line in commands[:3]] == [
        "make demo",
        "make test",
        "pip install '.[gateway,inspector]'",
    ]
    assert text[: text.index("```sh")].count("\n") < 16  # on the first screen
    # Nothing is published: no command of the page fetches contextfold from an index.
    fenced = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert not re.search(r"(?:pip|pipx|uv|uvx)\b[^#\n]* '?contextfold", fenced)


def test_the_demo_says_what_it_installs() -> None:
    demo = (ROOT / "Makefile").read_text("utf-8").partition(".venv-demo/.locked: requirements")[2]
    core = sorted(map(name_of, PROJECT["dependencies"]))
    assert f"installs {core[0]}, {core[1]} and {core[2]}" in demo
    assert f"({'|'.join(core)})==" in demo  # and nothing else


def test_the_core_has_at_most_five_dependencies() -> None:
    assert 0 < len(PROJECT["dependencies"]) <= MOST_DEPENDENCIES


def test_the_counter_is_pinned_exactly() -> None:
    pins = [each for each in PROJECT["dependencies"] if name_of(each) == "splintr-rs"]
    assert len(pins) == 1
    assert re.fullmatch(r"splintr-rs==0\.22\.\d+", pins[0])


def test_the_version_is_the_same_everywhere() -> None:
    assert contextfold.__version__ == PROJECT["version"] == version("contextfold")


@pytest.mark.finding("K17")
def test_no_release_with_a_published_hole_is_admitted_where_the_network_is_faced() -> None:
    """Advisories of aiohttp name everything before 3.13.4; the floor is the release that the lock was tried with."""
    (floor,) = (
        each for each in map(Requirement, PROJECT["optional-dependencies"]["gateway"]) if each.name == "aiohttp"
    )
    assert not [each for each in ("3.11.18", "3.12.15", "3.13.3") if each in floor.specifier]
    (tried,) = (each for each in map(Requirement, locked()) if each.name == "aiohttp")
    (pin,) = tried.specifier
    assert pin.version in floor.specifier


def test_the_lock_holds_every_dependency_with_its_hashes() -> None:
    assert all(hashes for hashes in locked().values())
    assert {name_of(each) for each in PROJECT["dependencies"]} <= {name_of(each) for each in locked()}


def test_the_lock_names_no_host_path_or_option() -> None:
    assert not re.search(r"://|^\s*-(?!-hash=)|\s@\s|/", LOCK, re.MULTILINE)


def test_no_file_names_a_directory_of_one_machine_or_a_package_registry() -> None:
    directory, registry = r"(?<![\w.~/*-])/(?:work|root|home)\b", r"\b(?:pypi\.org|pythonhosted\.org)\b"
    pattern = re.compile(f"{directory}|{registry}", re.IGNORECASE)
    assert not [f"{path}: {match[0]}" for path, text in tracked() for match in pattern.finditer(text)]


@pytest.mark.parametrize(
    ("built", "problem"),
    [
        ({"contextfold/a.py": b"1"}, []),
        ({}, ["not in the wheel: contextfold/a.py"]),
        ({"contextfold/a.py": b"2"}, ["differs from the source: contextfold/a.py"]),
        ({"contextfold/a.py": b"1", "a.pth": b""}, ["not in the source: a.pth", "unexpected kind of file: a.pth"]),
        ({"contextfold/a.py": b"1", "x.dist-info/hook": b""}, ["unexpected metadata: hook"]),
    ],
)
def test_a_wheel_that_is_not_the_source_is_refused(built: dict[str, bytes], problem: list[str]) -> None:
    assert problems(built, {"contextfold/a.py": b"1"}) == problem
