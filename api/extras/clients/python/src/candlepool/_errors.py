"""The errors of the service, as it describes them. The key is in none of them."""

from __future__ import annotations

from typing import Any


class CandlepoolError(Exception):
    """`code` says what happened, `errors` names each bad parameter with its rule; `status` is 0 where there was no answer."""

    def __init__(self, problem: dict[str, Any], status: int, retry_after: float | None = None) -> None:
        self.message: str = problem.get("message") or f"The service answered with status {status}."
        super().__init__(self.message)
        self.code: str = problem.get("code") or "no_answer"
        self.status = status
        self.errors: list[dict[str, str]] = problem.get("errors") or []
        self.request_id: str | None = problem.get("request_id")
        #: Seconds that the service asks to wait.
        self.retry_after = retry_after

    @property
    def is_temporary(self) -> bool:
        """True where the same request may succeed later."""
        return self.status in (0, 429) or self.status >= 500


class Unauthorized(CandlepoolError):
    """The key is missing, unknown or revoked."""


class InvalidParameters(CandlepoolError):
    """`errors` lists every bad parameter."""


class NotFound(CandlepoolError):
    """No such pool, token or pair is stored."""


class RateLimited(CandlepoolError):
    """No credit is left; `retry_after` says for how long."""


_BY_STATUS = {400: InvalidParameters, 401: Unauthorized, 404: NotFound, 429: RateLimited}


def error_of(problem: dict[str, Any], status: int, retry_after: str | None = None) -> CandlepoolError:
    seconds = float(retry_after) if retry_after and retry_after.isdigit() else None
    return _BY_STATUS.get(status, CandlepoolError)(problem, status, seconds)
