"""All failures, as exceptions with their remedy."""

from __future__ import annotations

import json
from typing import Any, cast

_KEY = "the key was refused: it may have been rotated or revoked, so give the client the new one"
_PLAN = "use a key or plan that has it, or ask for less"
_ADVICE = {
    "unauthorized": _KEY,
    "invalid_api_key": _KEY,
    "plan_limit": _PLAN,
    "insufficient_scope": _PLAN,
    "sandbox_key": _PLAN,
    "snapshot_gone": "begin again without the snapshot; a mirror takes the whole again",
    "rate_limit_exceeded": "ask more slowly, or raise the deadline",
    "quota_exceeded": "wait until the period ends, or take a larger plan",
    "idempotency_conflict": "this job id was used with other selections: take a new one",
    "temporarily_unavailable": "the service cannot answer now: try later",
}


class NinepocketError(Exception):
    """The base of all exceptions of this package."""


class Unreachable(NinepocketError):
    """No whole response came, after all tries."""

    def __init__(self, what: str, tries: int, cause: object):
        super().__init__(f"cannot get a whole response to {what} in {tries} tries: {cause!r}; look at the address and the network")


class MirrorError(NinepocketError):
    """A mirror cannot be made or read."""


class APIError(NinepocketError):
    """A response that is an error. `code` is one of the error table; `problems` has each reason."""

    def __init__(self, status: int, code: str, detail: str, request_id: str, retry_after: float | None = None):
        self.status, self.code, self.detail, self.request_id = status, code, detail, request_id
        self.retry_after = retry_after
        self.problems = detail.split("; ")
        self.advice = _ADVICE.get(code, "")
        advice = f"; {self.advice}" if self.advice else ""
        super().__init__(f"{code}: {detail}{advice} (request {request_id or 'without an id'})")


class InvalidRequest(APIError):
    """A parameter, a header or the body breaks a rule."""


class CursorExpired(InvalidRequest):
    """A page's cursor is too old, again and again."""


class Unauthorized(APIError):
    """The key was refused, perhaps because it was rotated."""


class Forbidden(APIError):
    """The key or its plan does not allow this."""


class PlanLimit(Forbidden):
    """The plan does not allow this, or only a smaller amount."""


class NotFound(APIError):
    """No card, set or product has this id."""


class IdempotencyConflict(APIError):
    """The job id was used with other selections."""


class SnapshotGone(APIError):
    """The requested snapshot is no longer on the server."""


class RateLimited(APIError):
    """The minute is used up, and the deadline does not allow the wait."""


class QuotaExceeded(RateLimited):
    """The day, or the credits of the period, are used up."""


class Unavailable(APIError):
    """The service cannot respond now."""


_BY_CODE: dict[str, type[APIError]] = {
    "plan_limit": PlanLimit,
    "snapshot_gone": SnapshotGone,
    "quota_exceeded": QuotaExceeded,
}
_BY_STATUS: dict[int, type[APIError]] = {
    400: InvalidRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 409: IdempotencyConflict,
    429: RateLimited,
}  # fmt: skip


def from_answer(status: int, body: bytes, request_id: str, retry_after: float | None, cursor: bool) -> APIError:
    """Makes the exception of a response of either surface, or of a proxy that knows neither."""
    code, detail = "http_%d" % status, "the response is not an error of this service"
    try:
        said: Any = json.loads(body)
        fields = cast("dict[str, Any]", said.get("error", said))
        code = str(fields["code"])
        detail = str(fields.get("detail") or fields.get("message"))
        request_id = str(fields.get("request_id") or request_id)
    except (ValueError, KeyError, AttributeError, TypeError):
        pass

    # A page requested with the service's own cursor has no other possible fault.
    if cursor and status == 400:
        return CursorExpired(status, code, detail, request_id, retry_after)
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status) or (Unavailable if status >= 500 else APIError)
    return kind(status, code, detail, request_id, retry_after)
