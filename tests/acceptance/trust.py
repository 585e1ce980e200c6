"""A list of one certificate authority: reading all of them takes longer than a whole exchange over the loopback."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import certifi

_END = "-----END CERTIFICATE-----\n"


@cache
def one_authority() -> str:
    """A file for SSL_CERT_FILE."""
    path = Path(mkdtemp()) / "authority.pem"
    path.write_text(Path(certifi.where()).read_text().partition(_END)[0] + _END)
    return str(path)
