"""What tools print in generated sessions: test runs, logs, tables, differences.

Long and mostly dull, as tool output is: this is what fills a context window.
"""

from __future__ import annotations

import json
from random import Random

from .project import FIELDS, CodePlace, Project

REGIONS = ("tokyo", "osaka", "berlin", "lisbon", "oslo")


def run_of_tests(random: Random, project: Project, place: CodePlace, *, fails: bool) -> str:
    """A test run with its dots, and a traceback that points into the project when it fails."""
    path, total = project.tests_of(place), random.randrange(180, 420)
    failed = 1 if fails else 0
    lines = [
        "============================= test session starts ==============================",
        f"platform linux -- Python 3.12.4, pytest-8.3.2\nrootdir: shop\ncollected {total} items\n",
        *_dots(project, random, path if fails else ""),
    ]
    if fails:
        lines += _traceback(project, place, path)
        lines.append(
            f"FAILED {path}::test_{place.function}_keeps_the_{place.field} - shop.errors.ShopError: {place.code}"
        )
    seconds = random.randrange(400, 9000) / 100
    outcome = f"{failed} failed, {total - failed} passed" if failed else f"{total} passed"
    return "\n".join([*lines, f"================= {outcome} in {seconds:.2f}s ================="])


def _dots(project: Project, random: Random, failing: str) -> list[str]:
    lines = []
    for path in project.paths("tests/"):
        dots = "." * random.randrange(18, 50)
        lines.append(f"{path} {dots + 'F' if path == failing else dots}")
    return lines


def _traceback(project: Project, place: CodePlace, path: str) -> list[str]:
    line = project.line_of(place)
    body = project.files[place.path][line - 1 : line + 7]
    return [
        "\n=================================== FAILURES ===================================",
        f"_______________ test_{place.function}_keeps_the_{place.field} _______________",
        f"\n{path}: in test_{place.function}_keeps_the_{place.field}",
        f"    changed = service.{place.function}({place.noun})",
        f"{place.path}:{line}: in {place.function}",
        *(f">   {text}" if number == 2 else f"    {text}" for number, text in enumerate(body)),
        f"E   shop.errors.ShopError: {place.code}: {place.noun} 4711 is past its {place.aspect}",
        "=========================== short test summary info ============================",
    ]


def server_log(random: Random, place: CodePlace) -> str:
    """The tail of a log, one line of which matters."""
    lines = []
    for number in range(random.randrange(30, 90)):
        status = random.choice((200, 200, 200, 201, 204, 304))
        lines.append(
            f"2026-03-{random.randrange(1, 29):02d}T{random.randrange(24):02d}:{random.randrange(60):02d}:07Z INFO "
            f"request id={random.randrange(16**8):08x} path=/v2/{place.noun}s/{1000 + number} status={status} "
            f"ms={random.randrange(3, 900)} region={random.choice(REGIONS)}"
        )
    wrong = f"ERROR {place.function} code={place.code} {place.field}={place.number} ticket={place.ticket}"
    lines.insert(random.randrange(len(lines)), f"2026-03-14T09:26:53Z {wrong}")
    return "\n".join(lines)


def records(random: Random, place: CodePlace) -> str:
    """What an API answered: records as indented JSON."""
    rows = [
        {"id": 4000 + number, **{field: _value(random, field) for field in FIELDS}}
        for number in range(random.randrange(6, 24))
    ]
    return json.dumps({"kind": place.noun, "count": len(rows), "items": rows}, indent=2, ensure_ascii=False)


def _value(random: Random, field: str) -> object:
    match field:
        case "amount":
            return f"{random.randrange(100, 900000) / 100:.2f}"
        case "region":
            return random.choice(REGIONS)
        case "status":
            return random.choice(("open", "closed", "late"))
        case "closed_at":
            return None
        case _:
            return random.randrange(1, 5000)


def difference(place: CodePlace, line: int, old: str, new: str) -> str:
    """A change as version control shows it."""
    removed = "\n".join(f"-{text}" for text in old.splitlines())
    added = "\n".join(f"+{text}" for text in new.splitlines())
    header = f"diff --git a/{place.path} b/{place.path}\n--- a/{place.path}\n+++ b/{place.path}"
    return f"{header}\n@@ -{line},4 +{line},5 @@ def {place.function}\n{removed}\n{added}"
