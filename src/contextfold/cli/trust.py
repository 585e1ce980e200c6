"""Trust a settings file that lies in the working directory, with the content it has now, from now on.

A contextfold.toml that merely lies in the working directory may come from a stranger, as with a cloned repository.
Until you trust it, it sets language and colours and nothing else. Trust is remembered by place and content in your own
state directory: look again at a file that was changed or moved.

Examples:
  contextfold trust
  contextfold trust --revoke
  contextfold trust ../agent/contextfold.toml
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path

from contextfold.errors import BadConfiguration, NotFound
from contextfold.models import (
    FILE,
    config_from,
    named_settings,
    read_table,
    record,
    records_in,
    revoke,
    setting_names,
)

from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default=FILE, help="the settings file (default: ./contextfold.toml)")
    parser.add_argument("--revoke", action="store_true", help="trust it no longer")


def run(call: Invocation) -> int:
    path = Path(call.args.file)
    if not path.is_file():
        raise NotFound(f"There is no settings file {path} to trust. Name one that is there.")
    records = records_in(os.environ)
    if records is None:
        raise BadConfiguration("There is no place to remember trust in: set HOME or XDG_STATE_HOME to a whole path.")
    content, table = read_table(path)
    names = tuple(setting_names(table))
    if call.args.revoke:
        revoke(records, path, content)
        done = "trust.revoked"
    else:
        config_from(table, str(path))  # a mistake in it is told now
        record(records, path, content)
        done = "trust.done"
    value = {"file": str(path.absolute()), "settings": names, "trusted": not call.args.revoke}
    said = call.say(done, path=path.absolute(), names=named_settings(names))
    return call.answer(value, lambda: call.out.line(said))
