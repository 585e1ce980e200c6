"""Hold `contextfold mcp --http` against the official conformance suite of the Model Context Protocol.

Of the suite's scenarios for servers the generic ones apply to any server; the others ask for tools, prompts and
resources of the suite's own, which a store does not have. Run by `make mcp-conformance`, which installs the suite and a
Node that runs it: `python scripts/mcp_conformance.py NODE SUITE`.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import contextfold as cf

GENERIC = (
    *("server-initialize", "ping", "tools-list", "resources-list", "prompts-list"),
    "server-sse-multiple-streams",
)
LONGEST = 60  # seconds for one scenario
PORT = 8791
_PASSED = re.compile(r"Passed: (\d+)/(\d+), (\d+) failed")


def scenario(node: str, suite: str, name: str, url: str) -> tuple[bool, str]:
    """Whether the server passes, and what the suite says of it."""
    done = subprocess.run(
        [node, suite, "server", "--url", url, "--scenario", name],
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    told = done.stdout + done.stderr
    found = _PASSED.search(told)
    return done.returncode == 0, found.group(0) if found else told.strip()[-300:]


def main(node: str, suite: str) -> int:
    missed = 0
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "agent.db"
        with cf.Session.open(path, thread="one", model="claude-sonnet-5-5") as session:
            session.append({"role": "user", "content": "Where is the parser?"})
        server = subprocess.Popen(
            [sys.executable, "-m", "contextfold", "mcp", "--http", "--port", str(PORT), "--store", str(path)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ,
        )
        try:
            assert server.stdout is not None  # noqa: S101  # it is piped
            ready, _, _ = select.select([server.stdout], [], [], LONGEST)
            url = server.stdout.readline().strip() if ready else ""
            sys.stdout.write(f"mcp {version('mcp')}\n")
            for name in GENERIC:
                passed, told = scenario(node, suite, name, url)
                missed += not passed
                sys.stdout.write(f"{'ok' if passed else 'FAILED'}  {name}: {told}\n")
        finally:
            server.terminate()
            server.wait(LONGEST)
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
