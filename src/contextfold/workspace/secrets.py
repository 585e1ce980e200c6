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

# Prefixes that issuers chose so that leaked keys can be found, and the armour of private keys: of what kind, what must
# be there (a plain search is ten times as fast as a pattern), and the whole shape.
KEY_SHAPES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("Anthropic key", ("sk-ant-",), r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    ("OpenAI key", ("sk-",), r"\bsk-(?!ant-)(?:proj-|svcacct-|or-)?[A-Za-z0-9_-]{32,}"),
    ("Google key", ("AIza",), r"\bAIza[A-Za-z0-9_-]{35}"),
    ("AWS key", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("GitHub token", ("gh", "github_pat_"), r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})"),
    ("GitLab token", ("glpat-",), r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("Slack token", ("xox",), r"\bxox[abeoprs]-[A-Za-z0-9-]{20,}"),
    ("Stripe key", ("k_live_",), r"\b[rs]k_live_[A-Za-z0-9]{20,}"),
    ("Hugging Face token", ("hf_",), r"\bhf_[A-Za-z0-9]{30,}"),
    ("npm token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}"),
    ("private key", ("PRIVATE KEY",), r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----"),
)

_ANY_SHAPE = re.compile("|".join(f"(?:{shape})" for _, _, shape in KEY_SHAPES).encode())


def is_secret_name(name: str) -> bool:
    """Whether a file of this name is left out, whatever it holds."""
    lower = name.lower()
    return lower not in HARMLESS and any(fnmatchcase(lower, pattern) for pattern in SECRET_NAMES)


def holds_key(content: bytes) -> bool:
    """Whether something in it is shaped like a key."""
    return _ANY_SHAPE.search(content) is not None
