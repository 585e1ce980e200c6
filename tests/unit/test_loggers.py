"""A library speaks to whoever listens, and writes to no terminal by itself."""

from __future__ import annotations

import subprocess
import sys

TOO_LARGE = """
import contextfold as cf
try:
    cf.fit([{"role": "user", "content": "word " * 40_000}], model="gpt-4")
except cf.CannotFit:
    print("cannot fit")
"""
LISTENING = "import logging; logging.basicConfig(format='%(levelname)s %(name)s %(message)s')\n"


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)


def test_a_warning_reaches_no_terminal_where_nobody_configured_logging() -> None:
    told = run(TOO_LARGE)
    assert (told.stdout, told.stderr) == ("cannot fit\n", "")


def test_an_application_that_configures_logging_hears_the_warning() -> None:
    heard = run(LISTENING + TOO_LARGE).stderr
    assert heard.startswith("WARNING contextfold.session cannot fit ")


def test_importing_contextfold_loads_no_logging() -> None:
    assert run("import sys, contextfold; print('logging' in sys.modules)").stdout == "False\n"
