"""Prices of trading cards from a ninepocket server: no double charge, no lost row.

>>> client = Client("https://cards.example.com", key)
>>> for card in client.cards(q="charizard"): ...
"""

from .client import Client
from .errors import (
    APIError, CursorExpired, Forbidden, IdempotencyConflict, InvalidRequest, MirrorError,
    NinepocketError, NotFound, PlanLimit, QuotaExceeded, RateLimited, SnapshotGone, Unauthorized, Unavailable, Unreachable,
)  # fmt: skip
from .mirror import Mirror
from .transport import VERSION

__version__ = VERSION
__all__ = [
    "APIError", "Client", "CursorExpired", "Forbidden", "IdempotencyConflict",
    "InvalidRequest", "Mirror", "MirrorError", "NinepocketError", "NotFound", "PlanLimit", "QuotaExceeded",
    "RateLimited", "SnapshotGone", "Unauthorized", "Unavailable", "Unreachable",
]  # fmt: skip
