"""A local copy of the catalog that is brought up to date by what changed."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import quote

from .client import Client
from .errors import Forbidden, MirrorError, NotFound, SnapshotGone

_TABLES = """
CREATE TABLE IF NOT EXISTS cards (id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sets (id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS prices (
  card TEXT, variant TEXT, condition TEXT, cents INTEGER NOT NULL, updated TEXT NOT NULL,
  PRIMARY KEY (card, variant, condition)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_ATTEMPTS = 3  # how often a copy begins again because a publication came between
_CHUNK = 200  # cards of one batch


class MirrorPrice(NamedTuple):
    """The price of one lane. Variant and condition are codes, such as `holofoil` and `near_mint`."""

    variant: str
    condition: str
    market_price_cents: int
    price_updated_at: str


class Mirror:
    """A folder with all cards, prices and sets of one snapshot. One process at a time may call `sync`.

    It takes the bulk files first where the plan has them and zstd can be read here: by Python 3.14, or by
    the program `zstd`. Otherwise it walks through the catalog, in some 900 requests. After that a day costs
    up to seven requests. `made_by` says which way the first copy came.
    """

    def __init__(self, folder: str | Path, client: Client):
        self._folder, self._client = Path(folder), client
        self._folder.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(self._folder / "mirror.sqlite", isolation_level=None)
        self._db.executescript("PRAGMA journal_mode = WAL;" + _TABLES)

    def __enter__(self) -> Mirror:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the database."""
        self._db.close()

    @property
    def snapshot_id(self) -> str | None:
        """The snapshot that the mirror is complete for, or None before the first copy."""
        return self._about("snapshot_id")

    @property
    def made_by(self) -> str | None:
        """`bulk` or `walk`: where the last whole copy came from."""
        return self._about("made_by")

    def card(self, card_id: str) -> dict[str, Any] | None:
        """A card as the API has it, with its prices as MirrorPrice has them; None if there is no such card."""
        record = self._record("cards", card_id)
        return record and {**record, "prices": [price._asdict() for price in self.prices(card_id)]}

    def prices(self, card_id: str) -> list[MirrorPrice]:
        """The current prices of a card."""
        found = self._db.execute(
            "SELECT variant, condition, cents, updated FROM prices WHERE card = ? ORDER BY 1, 2", (card_id,)
        )
        return [MirrorPrice(*row) for row in found]

    def set(self, set_id: str) -> dict[str, Any] | None:
        """A set, or None if there is no such set."""
        return self._record("sets", set_id)

    def cards(self) -> Iterator[str]:
        """The ids of all cards."""
        return (row[0] for row in self._db.execute("SELECT id FROM cards ORDER BY id").fetchall())

    def sync(self) -> bool:
        """Brings the mirror up to the served snapshot, and returns whether anything was new."""
        snapshot = self.snapshot_id
        if snapshot is None:
            self._copy()
            return True

        # Usage is free, and says when the served snapshot was made.
        if self._client.usage()["meta"]["snapshot_at"] == self._about("snapshot_at"):
            return False
        try:
            return self._follow(snapshot)
        except SnapshotGone:
            self._copy()
            return True
