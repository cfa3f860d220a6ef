"""A local copy of the catalog that is updated by changes."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, cast

from . import types as t
from .client import Client
from .errors import CursorExpired, Forbidden, MirrorError, NotFound, SnapshotGone

_ATTEMPTS = 3  # how often a copy starts again because a release came between
_RECORDS = ("cards", "sets")
_MOVING = ("change_7d_cents", "change_7d_percent", "change_30d_cents", "change_30d_percent")


class Mirror:
    """A folder with all cards, prices and sets of one snapshot. One process at a time may `sync` it.

    The first copy comes from the bulk files if the plan has them and zstd can be read here: by Python
    3.14, or by the program `zstd`. Otherwise it is pagination through the catalog, in some 900 requests, and
    `made_by` says so. A later day takes up to seven requests. All is held in memory, about 1 kB a card.
    """

    def __init__(self, client: Client, folder: str | os.PathLike[str]):
        self._client, self._folder = client, Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._records: dict[str, dict[str, bytes]] = {name: {} for name in _RECORDS}
        self._state: dict[str, Any] = {}
        state = self._folder / "mirror.json"
        if state.exists():
            self._state = json.loads(state.read_bytes())
            if self._state["version"] != 1:
                raise MirrorError(f"cannot read {state}: its version is {self._state['version']}, and 1 is known")
            for name in _RECORDS:
                self._records[name] = _by_id((self._folder / self._state[name]).read_bytes().split(b"\n"))

    @property
    def snapshot_id(self) -> str | None:
        """The snapshot that the mirror is complete for, or None before the first copy."""
        return self._state.get("snapshot_id")

    @property
    def made_by(self) -> str | None:
        """`bulk` or `walk` (pagination): the source of the last whole copy."""
        return self._state.get("made_by")

    def card(self, card_id: str) -> t.CardDetail | None:
        """A card with its prices, whose variant and condition are codes; None if there is no such card."""
        record = self._records["cards"].get(card_id)
        return json.loads(record) if record else None

    def prices(self, card_id: str) -> list[t.VariantPrice]:
        """The current prices of a card."""
        card = self.card(card_id)
        return card["prices"] if card else []

    def set(self, set_id: str) -> t.SetSummary | None:
        """A set, or None if there is no such set."""
        record = self._records["sets"].get(set_id)
        return json.loads(record) if record else None

    def cards(self) -> Iterator[t.CardDetail]:
        """All cards, by id."""
        return (json.loads(record) for _, record in sorted(self._records["cards"].items()))

    def sets(self) -> Iterator[t.SetSummary]:
        """All sets, by id."""
        return (json.loads(record) for _, record in sorted(self._records["sets"].items()))

    def sync(self) -> bool:
        """Brings the mirror up to the served snapshot, and returns whether anything was new.

        The folder is always whole: of the old snapshot or of the new snapshot.
        """
        since = self.snapshot_id
        if since is not None and since == self._client.served()[0]:  # which is free
            return False
        try:
            if since is not None:
                self._follow(since, self._records)
                return True
        except SnapshotGone:
            pass
        self._copy()
        return True

    def _copy(self) -> None:
        """Takes the whole catalog: by the files if that is possible, otherwise by pagination."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                listed = self._listed() if zstd_readable() else None
                return self._take(listed) if listed else self._walk()
            except (SnapshotGone, CursorExpired):
                if attempt == _ATTEMPTS:
                    raise

    def _listed(self) -> t.BulkList | None:
        """The list of files once they are made, or None if the plan or the server has none."""
        end = time.monotonic() + self._client.transport.deadline
        while True:
            try:
                listed, wait = self._client.bulk()
            except (Forbidden, NotFound):
                return None
            if listed["files"]:
                return listed
            if wait == 0:
                return None  # there is nothing to wait for: the operator may not pass the catalog on
            if time.monotonic() + wait > end:
                raise MirrorError("cannot copy: the bulk files are still being made; try again in a minute")
            time.sleep(wait)

    def _take(self, listed: t.BulkList) -> None:
        """Downloads cards and sets, and replaces the earlier ones."""
        files = {file["name"]: file for file in listed["files"]}
        parts: dict[str, Path] = {}
        for name in _RECORDS:
            file = files[f"{name}.jsonl.zst"]
            parts[name] = self._folder / f"{file['name']}-{listed['snapshot_id']}.part"
            self._download(f"/v1/bulk/{listed['snapshot_id']}/{file['name']}", parts[name], file)
        cards = (_coded(json.loads(line)) for line in _lines(parts["cards"]))
        self._records = {"cards": _by_id(cards), "sets": _by_id(_lines(parts["sets"]))}
        self._store(listed["snapshot_id"], {**listed, "made_by": "bulk"})

    def _download(self, url: str, part: Path, file: t.BulkFile) -> None:
        """Gets the rest of one file, after the bytes of an earlier run."""
        for _ in range(2):
            with part.open("ab+") as into:
                # The sum shows in the end whether the parts belong together.
                self._client.transport.download(url, cast("BinaryIO", into), file["bytes"])
                into.seek(0)
                if hashlib.file_digest(into, "sha256").hexdigest() == file["sha256"]:
                    return
            part.unlink()
        raise MirrorError(f"cannot copy {file['name']}: it differs from its sha256, twice")

    def _walk(self) -> None:
        """Takes ids by pagination, cards in batches, and then the changes since it began.

        A row of the changes has the present values, so that it does not matter between which two
        releases a batch was answered.
        """
        began = self._client.served()[0]
        ids = [card["id"] for card in self._client.cards(fields="id", sort="name")]
        cards: dict[str, bytes] = {}
        for start in range(0, len(ids), 200):
            cards |= _by_id(map(_coded, self._client.cards_batch(ids[start : start + 200])["data"]))
        sets = _by_id(map(_dumped, self._client.sets()))
        self._follow(began, {"cards": cards, "sets": sets}, made_by="walk")

    def _follow(self, since: str, base: dict[str, dict[str, bytes]], **more: str) -> None:
        """Applies the changes of all three kinds since a snapshot, up to the snapshot of the first kind."""
        up_to: str | None = None
        changes: dict[str, list[t.Change]] = {}
        for kind in ("cards", "sets", "prices"):
            changes[kind] = []
            for page in self._client.change_pages(since, kind, up_to):
                up_to = page["snapshot_id"]
                changes[kind] += page["data"]
        assert up_to is not None

        # Nothing is changed before everything is here. Prices come last, because their cards must
        # be there.
        self._records = base
        lanes: dict[str, list[t.Change]] = {}
        for row in changes["prices"]:
            lanes.setdefault(row["id"], []).append(row)
        for row in changes["sets"]:
            self._change("sets", row["id"], row.get("set"))
        for row in changes["cards"]:
            old = self.card(row["id"])
            card = row.get("card")
            self._change("cards", row["id"], card and {**card, "prices": old["prices"] if old else []})
        for card_id, rows in lanes.items():
            self._change_prices(card_id, rows)
        served, snapshot_at = self._client.served()
        if served == up_to:
            until = datetime.fromisoformat(snapshot_at) + timedelta(hours=24)
            more |= {"snapshot_at": snapshot_at, "use_until": until.isoformat().replace("+00:00", "Z")}
        self._store(up_to, more)

    def _change(self, name: str, key: str, record: Mapping[str, Any] | None) -> None:
        if record is None:
            self._records[name].pop(key, None)
        else:
            self._records[name][key] = _dumped(record)

    def _change_prices(self, card_id: str, rows: Iterable[t.Change]) -> None:
        card = self.card(card_id)
        if card is None:
            return
        prices: dict[object, Mapping[str, Any]] = {(old["variant"], old["condition"]): old for old in card["prices"]}
        for row in rows:
            lane = row.get("variant"), row.get("condition")
            price = row.get("price")
            if price is None:
                prices.pop(lane, None)
            else:
                fixed = {"variant": lane[0], "condition": lane[1], "currency": "USD"}
                prices[lane] = {**fixed, **price, **dict.fromkeys(_MOVING)}
        self._change("cards", card_id, {**card, "prices": list(prices.values())})

    def _store(self, snapshot: str, about: Mapping[str, Any]) -> None:
        """Writes the files, and last the state that names them; then removes all other files."""
        state = {name: value for name, value in {**self._state, **about}.items() if name != "files"}
        state |= {"version": 1, "snapshot_id": snapshot}
        for name in _RECORDS:
            state[name] = f"{name}-{snapshot}.jsonl"
            lines = b"".join(record + b"\n" for _, record in sorted(self._records[name].items()))
            _replace(self._folder / state[name], lines)
        _replace(self._folder / "mirror.json", json.dumps(state, indent=2).encode())
        self._state = state
        for path in self._folder.iterdir():
            if path.suffix in (".jsonl", ".part", ".new") and path.name not in state.values():
                path.unlink()


def _by_id(lines: Iterable[bytes]) -> dict[str, bytes]:
    """Records, each a line of JSON, by their ids."""
    return {json.loads(line)["id"]: line.rstrip(b"\n") for line in lines if line}


def _coded(card: t.CardDetail) -> bytes:
    """A card of a batch or a file in the mirror's form: its conditions are codes, as in changes."""
    prices = [{**price, "condition": price["condition"].lower().replace(" ", "_")} for price in card["prices"]]
    return _dumped({**card, "prices": prices})


def _dumped(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


def _replace(path: Path, content: bytes) -> None:
    """Writes a file so that a crash leaves the old one or the new one, never a part."""
    beside = path.with_name(path.name + ".new")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def zstd_readable() -> bool:
    """Whether this Python, or a program next to it, reads zstd."""
    return _zstd_module() is not None or shutil.which("zstd") is not None


def _zstd_module() -> Any:
    try:
        return importlib.import_module("compression.zstd")
    except ImportError:
        return None


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file that is compressed with zstd."""
    module = _zstd_module()
    if module is not None:
        with module.open(path, "rb") as file:
            yield from file
        return

    with subprocess.Popen(["zstd", "-dcq", "--", str(path)], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        yield from program.stdout
    if program.returncode:
        raise MirrorError(f"cannot read {path.name}: zstd ended with {program.returncode}")
