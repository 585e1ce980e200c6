"""What must not be copied into a snapshot: files that are secret by name, or hold something shaped like a key.

A snapshot is read later, by others than its workspace is. Says what is secret; the caller leaves it out and reports it.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

SECRET_NAMES = (
    *(".env", ".env.*", "*.env", "*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials"),
    *(".htpasswd", "credentials", "credentials.json", "service-account*.json"),
    *("secrets.json", "secrets.yaml", "secrets.yml", "secrets.toml"),
)
HARMLESS = (".env.example", ".env.sample", ".env.template")

# Prefixes that issuers chose so that leaked keys can be found, and the armour of private keys.
KEY_SHAPES = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----"
    rb"|\bA(?:KIA|SIA)[0-9A-Z]{16}\b"
    rb"|\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{24,}"
    rb"|\bgh[pousr]_[A-Za-z0-9]{36,}"
    rb"|\bgithub_pat_[A-Za-z0-9_]{40,}"
    rb"|\bglpat-[A-Za-z0-9_-]{20,}"
    rb"|\bxox[abeoprs]-[A-Za-z0-9-]{20,}"
    rb"|\bAIza[A-Za-z0-9_-]{35}"
    rb"|\b[rs]k_live_[A-Za-z0-9]{24,}"
    rb"|\bhf_[A-Za-z0-9]{34,}"
    rb"|\bnpm_[A-Za-z0-9]{36}"
)


def is_secret_name(name: str) -> bool:
    """Whether a file of this name is left out, whatever it holds."""
    lower = name.lower()
    return lower not in HARMLESS and any(fnmatchcase(lower, pattern) for pattern in SECRET_NAMES)


def holds_key(content: bytes) -> bool:
    """Whether something in it is shaped like a key."""
    return KEY_SHAPES.search(content) is not None
