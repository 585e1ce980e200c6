"""Write what a release is made of, as CycloneDX: the package, what it needs, what its extras need, with hashes.

Read from `pyproject.toml` and the lock, so that it says what was built and tested with; asks nobody.
"""

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s\\;]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def locked(text: str) -> dict[str, tuple[str, list[str]]]:
    """Version and hashes of every package in a lock, by its normal name."""
    found: dict[str, tuple[str, list[str]]] = {}
    name = ""
    for line in text.splitlines():
        if pinned := _PINNED.match(line):
            name = normal(pinned[1])
            found[name] = pinned[2], []
        if name:
            found[name][1].extend(_HASH.findall(line))
    return found


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def named(requirement: str) -> str:
    return normal(re.split(r"[\s<>=!~;\[]", requirement, maxsplit=1)[0])


def component(name: str, version: str, hashes: list[str], scope: str) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "scope": scope,
        "hashes": [{"alg": "SHA-256", "content": each} for each in sorted(hashes)],
    }


def bom(project: dict[str, Any], lock: dict[str, tuple[str, list[str]]]) -> dict[str, Any]:
    """The whole document. Packages that no lock pins are left out: nothing is known of them."""
    scopes = {named(each): "optional" for extra in project["optional-dependencies"].values() for each in extra}
    scopes |= {named(each): "required" for each in project["dependencies"]}
    listed = [component(name, *lock[name], scope) for name, scope in sorted(scopes.items()) if name in lock]
    itself = f"pkg:pypi/{project['name']}@{project['version']}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": itself,
                "name": project["name"],
                "version": project["version"],
                "purl": itself,
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": listed,
        "dependencies": [{"ref": itself, "dependsOn": [each["bom-ref"] for each in listed]}],
    }


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    document = bom(project, locked((ROOT / "requirements" / "dev.txt").read_text()))
    target = ROOT / "dist" / f"{project['name']}-{project['version']}.cdx.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(document, indent=2) + "\n")
    print(f"{target.relative_to(ROOT)}: {len(document['components'])} components")
    return 0


if __name__ == "__main__":
    sys.exit(main())
