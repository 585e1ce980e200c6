"""Why a request is not answered, in words that belong to no provider; each format gives it its own shape."""

from __future__ import annotations

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "invalid", "auth", "forbidden", "not_found", "too_large", "too_long", "rate_limited", "overloaded", "broken"
]

STATUS: dict[Kind, int] = {
    "invalid": 400,
    "auth": 401,
    "forbidden": 403,
    "not_found": 404,
    "too_large": 413,
    "too_long": 400,
    "rate_limited": 429,
    "overloaded": 503,
    "broken": 500,
}


class Refused(Exception):
    """A request that the provider would not answer. `rule` names the rule for tests; `message` is the provider's."""

    def __init__(
        self,
        message: str,
        *,
        kind: Kind = "invalid",
        rule: str = "",
        param: str | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.message, self.kind, self.rule = message, kind, rule
        self.param, self.code, self.retry_after = param, code, retry_after
        super().__init__(message)

    @property
    def status(self) -> int:
        return STATUS[self.kind]
