"""Run the first commands of README as a newcomer would: in a fresh clone, with nothing installed or exported.

Needs the package index for what `make demo` and `pip install` fetch, so it is no test. `make test` is left to whoever
calls this. The agent that README names is a stand-in, and the page is opened and closed again.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = ("make test",)
PAGE_READY = "http://"
FAILED = 1
LONGEST = 300  # seconds of one command
SET_BY_TOOLS = ("MAKE", "MFLAGS", "PYTHON", "VIRTUAL_ENV", "CONTEXTFOLD", "ANTHROPIC", "OPENAI", "GOOGLE")


def first_commands(page: str) -> list[str]:
    """The lines of the first block for a shell, without their comments."""
    found = re.search(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    lines = found[1].splitlines() if found else []
    return [line.partition("#")[0].rstrip() for line in lines]


def printed_commands(demo: str) -> list[str]:
    """The lines that the demo tells its reader to try."""
    return [line.strip() for line in demo.splitlines() if line.startswith("      ") and " --" in line]


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        clone, environment = folder / "clone", folder / "environment"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        agent = environment / "bin" / "claude"
        agent.write_text("#!/bin/sh\nexit 0\n")
        agent.chmod(0o755)
        own = {"PATH": f"{environment / 'bin'}:{os.environ['PATH']}", "XDG_STATE_HOME": str(folder / "state")}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(SET_BY_TOOLS)}
        shell = Shell(clone, {**kept, **own})
        commands = first_commands((ROOT / "README.md").read_text("utf-8"))
        return max(shell.run(line) for line in commands)


class Shell:
    """A newcomer's shell in a clone."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self._folder, self._environ = folder, environ

    def run(self, line: str) -> int:
        """Run a line as it is printed, and what it prints to be run in turn."""
        if line in LEFT_OUT:
            return 0
        is_served = line.startswith("contextfold inspect")
        command = ["sh", "-c", f"exec {line}" if is_served else line]
        folder, environ = self._folder, self._environ
        if is_served:
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder, env=environ) as page:
                told = next((text for text in page.stdout or () if PAGE_READY in text), "")
                page.terminate()
            return self._told(line, 0 if told else FAILED, "no link was printed")
        ran = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=folder, env=environ, timeout=LONGEST
        )
        code = self._told(line, ran.returncode, ran.stdout + ran.stderr)
        return max([code, *(self.run(each) for each in printed_commands(ran.stdout))])

    @staticmethod
    def _told(line: str, code: int, output: str) -> int:
        print("ok     " if code == 0 else "FAILED ", shlex.join(shlex.split(line)))
        if code:
            print(output, file=sys.stderr)
        return FAILED if code else 0


if __name__ == "__main__":
    sys.exit(main())
