"""The client: one method for each job, typed after the API's document."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Unpack
from urllib.parse import quote

from . import types as t
from .errors import CursorExpired, NinepocketError, SnapshotGone, Unreachable
from .transport import VERSION, Answer, Transport, retry_after

# The server's limits of one request.
_CARDS, _PRICES, _HISTORIES, _SELECTIONS, _ITEMS = 200, 100, 50, 50, 1000
_BODY = 250_000  # bytes of a body, a little below its bound
_RESTARTS = 3  # how often a pagination starts again
_IDEMPOTENT = 540.0  # seconds in which a preview batch may be repeated; the server knows its key for 600


class Client:
    """A client of one server with one key. Threads may share it; `close` it, or use it in a `with`.

    `deadline` is the longest that a call may take, with all its tries, in seconds; `try_timeout` is the
    longest for one try.
    """

    def __init__(
        self, base_url: str, key: str, *, deadline: float = 60, try_timeout: float = 20, max_tries: int = 8,
        user_agent: str = f"ninepocket-python/{VERSION}",
    ):  # fmt: skip
        self.transport = Transport(base_url, key, deadline, try_timeout, max_tries, user_agent)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self.transport.close()

    # One response each. Requests are conditional, so that an unchanged response is not sent again.

    def games(self) -> list[t.Game]:
        """All games."""
        return self._get("/v1/games")["data"]

    def facets(self) -> t.Facets:
        """The values that filters take, with the number of cards of each."""
        return self._get("/v1/facets")

    def suggest(self, **typed: Unpack[t.SuggestListParams]) -> list[t.Suggestion]:
        """Completes what somebody types, `q`."""
        return self._get("/v1/suggest", typed)["data"]

    def card(self, card_id: str, *, fields: Sequence[str] | None = None) -> t.CardDetail:
        """One card with its prices."""
        return self._get("/v1/cards/" + _segment(card_id), {"fields": fields})

    def history(self, card_id: str, **more: Unpack[t.CardPricesParams]) -> t.PriceHistory:
        """The prices of one card, day by day."""
        return self._get(f"/v1/cards/{_segment(card_id)}/prices", more)

    def statistics(self, card_id: str, **more: Unpack[t.CardPriceStatsParams]) -> t.PriceStatistics:
        """Statistics of one card's prices."""
        return self._get(f"/v1/cards/{_segment(card_id)}/price-stats", more)

    def set(self, set_id: str) -> t.SetDetail:
        """One set with its most expensive cards."""
        return self._get("/v1/sets/" + _segment(set_id))

    def movers(self, **filters: Unpack[t.MarketMoversParams]) -> list[t.Mover]:
        """The cards whose price changed most. The API has one page of them."""
        return self._get("/v1/market/movers", filters)["data"]

    def product(self, product_id: str) -> t.Product:
        """One product of the preview contract."""
        return self._get("/v1/products/" + _segment(product_id))["data"]

    def usage(self) -> t.UsageReport:
        """The usage of the plan, and the rest. It is free."""
        return _decode(self.transport.call("GET", "/v1/usage"))

    # Pagination over all pages.

    def cards(self, **filters: Unpack[t.CardsSearchParams]) -> Iterator[t.CardSummary]:
        """All cards that the filters find, each once."""
        return self._walk("/v1/cards", filters)

    def sets(self, **filters: Unpack[t.SetsListParams]) -> Iterator[t.SetSummary]:
        """All sets that the filters find, each once."""
        return self._walk("/v1/sets", filters)

    def products(self, **filters: Unpack[t.ProductsListParams]) -> Iterator[t.Product]:
        """All products of the preview contract, each once."""
        return self._walk("/v1/products", filters)

    def _walk(self, path: str, filters: Mapping[str, object]) -> Iterator[Any]:
        """Yields the rows of all pages. If a cursor expires it starts again, without rows already yielded."""
        query = {"limit": 50, **filters}
        given: set[str] = set()
        restarts = 0
        while True:
            try:
                page = _decode(self.transport.call("GET", path, query))
            except (CursorExpired, SnapshotGone):
                restarts += 1
                if restarts > _RESTARTS or not query.pop("cursor", None):
                    raise
                continue

            for row in page["data"]:
                if row["id"] not in given:
                    given.add(row["id"])
                    yield row
            query["cursor"] = page.get("pagination", page)["next_cursor"]
            if not query["cursor"]:
                return

    # Batches of any length, each of one snapshot.

    def cards_batch(
        self, ids: Iterable[str] = (), identifiers: Iterable[str] = (), *,
        fields: Sequence[str] | None = None, chunk: int = _CARDS,
    ) -> t.CardBatch:
        """Cards with their prices, in the given order."""
        return self._batch("/v1/cards/batch", chunk, ids, identifiers, {"fields": fields}, {})

    def prices_batch(
        self, ids: Iterable[str] = (), identifiers: Iterable[str] = (), *,
        fields: Sequence[str] | None = None, chunk: int = _PRICES,
    ) -> t.PriceBatch:
        """Display prices, in the given order."""
        return self._batch("/v1/prices/batch", chunk, ids, identifiers, {"fields": fields}, {})

    def histories_batch(
        self, ids: Iterable[str] = (), identifiers: Iterable[str] = (), *,
        days: int = 90, variant: str | None = None, chunk: int = _HISTORIES,
    ) -> t.HistoryBatch:
        """Price histories in columns, in the given order."""
        more = {"days": days, "variant": variant}
        return self._batch("/v1/prices/history/batch", chunk, ids, identifiers, {}, more)

    def _batch(
        self, path: str, size: int, ids: Iterable[str], identifiers: Iterable[str],
        query: Mapping[str, object], more: Mapping[str, object],
    ) -> Any:  # fmt: skip
        joined: dict[str, Any] = {"data": [], "not_found": []}
        for answer in self._chunks(path, size, ids, identifiers, query, more, {}):
            part = _decode(answer)
            joined = {**part, **{name: joined[name] + part[name] for name in ("data", "not_found")}}
        return joined

    def batch_csv(
        self, kind: str, ids: Iterable[str] = (), identifiers: Iterable[str] = (), *,
        days: int | None = None, chunk: int | None = None,
    ) -> Iterator[list[str]]:
        """A batch of `cards`, `prices` or `histories` as rows of CSV, its header first. Far cheaper to decode."""
        path, size = {
            "cards": ("/v1/cards/batch", _CARDS),
            "prices": ("/v1/prices/batch", _PRICES),
            "histories": ("/v1/prices/history/batch", _HISTORIES),
        }[kind]
        missing: list[list[str]] = []
        for number, answer in enumerate(self._chunks(path, chunk or size, ids, identifiers, {}, {"days": days}, _CSV)):
            rows = csv.reader(io.StringIO(answer.body.decode(), newline=""))
            header = next(rows)
            if number == 0:
                yield header
            for row in rows:
                if row[-1] == "not_found":
                    missing.append(row)
                else:
                    yield row
        yield from missing

    def _chunks(
        self, path: str, size: int, ids: Iterable[str], identifiers: Iterable[str],
        query: Mapping[str, object], more: Mapping[str, object], headers: Mapping[str, str],
    ) -> list[Answer]:  # fmt: skip
        """The responses of one batch, in chunks within the server's limit; a repeated string counts once."""
        asked = [("ids", ref) for ref in dict.fromkeys(ids)]
        asked += [("identifiers", ref) for ref in dict.fromkeys(identifiers)]
        bodies: list[bytes] = []
        for start in range(0, len(asked), size):
            body: dict[str, Any] = {name: value for name, value in more.items() if value is not None}
            for name, ref in asked[start : start + size]:
                body.setdefault(name, []).append(ref)
            bodies.append(_encode(body))
        return self._post_all(path, query, bodies, {**_JSON, **headers})

    def _post_all(
        self, path: str, query: Mapping[str, object], bodies: Sequence[bytes], headers: Mapping[str, str]
    ) -> list[Answer]:
        """The responses to all bodies from one snapshot. If that is gone, they start again."""
        for last in (False, True):
            pinned = dict(headers)
            answers: list[Answer] = []
            try:
                for body in bodies:
                    answers.append(self.transport.call("POST", path, query, body, pinned))
                    pinned["X-Snapshot-Id"] = answers[0].headers["X-Snapshot-Id"]
                return answers
            except SnapshotGone:
                if last:
                    raise
        raise AssertionError("unreachable")

    # Valuations: `index` counts through the whole list, and the totals cover all of it.

    def value(self, items: Iterable[t.ValuationItem], *, chunk: int = _ITEMS) -> t.Valuation:
        """The worth of a list of cards."""
        parts = _grouped([json.dumps(item) for item in items], 20, chunk)
        return self._value([('{"items":[' + ",".join(part) + "]}").encode() for part in parts], _JSON)

    def value_csv(self, text: str, *, chunk: int = _ITEMS) -> t.Valuation:
        """The worth of an app's export. Its rows are not changed, and quoted rows may have line ends."""
        lines: list[str] = []
        for line in text.lstrip("\ufeff").splitlines(keepends=True):
            if lines and lines[-1].count('"') % 2:
                lines[-1] += line
            elif line.strip():
                lines.append(line if line.endswith("\n") else line + "\n")
        heading = 2 if lines and lines[0].lower().startswith("sep=") else 1
        head = "".join(lines[:heading])
        parts = _grouped(lines[heading:], len(head.encode()), chunk)
        return self._value([(head + "".join(part)).encode() for part in parts], {"Content-Type": "text/csv"})

    def _value(self, bodies: Sequence[bytes], headers: Mapping[str, str]) -> t.Valuation:
        if not bodies:
            raise NinepocketError("cannot value a list without entries")
        joined, *others = [_decode(answer) for answer in self._post_all("/v1/valuations", {}, bodies, headers)]
        for part in others:
            for item in part["items"]:
                item["index"] += len(joined["items"])
            joined["items"] += part["items"]
            joined["totals"] = {name: sum + part["totals"][name] for name, sum in joined["totals"].items()}
        return joined

    # The preview contract.

    def preview_prices(self, job_id: str, selections: Iterable[t.PriceSelection]) -> Iterator[t.PriceResult]:
        """Prices selections for a partner, in their order. A job that is repeated within ten minutes is free.

        After ten minutes the server has forgotten it: a job that may be resumed later stores its results.
        """
        asked = [(_lane(selection), selection) for selection in selections]
        distinct = list(dict(asked).items())
        results: dict[str, t.PriceResult] = {}
        given = 0
        for start in range(0, len(distinct), _SELECTIONS):
            chunk = distinct[start : start + _SELECTIONS]
            content = job_id + "\n" + "".join(lane + "\n" for lane, _ in chunk)
            headers = {**_JSON, "Idempotency-Key": hashlib.sha256(content.encode()).hexdigest()}
            body = _encode({"items": [selection for _, selection in chunk]})
            longest = min(self.transport.deadline, _IDEMPOTENT)
            answer = self.transport.call("POST", "/v1/prices/batch", None, body, headers, longest=longest)

            for (lane, _), result in zip(chunk, _decode(answer)["data"], strict=True):
                results[lane] = result
            while given < len(asked) and asked[given][0] in results:
                yield results[asked[given][0]]
                given += 1

    # Changes and bulk files; a Mirror uses both.

    def changes(self, since: str, kind: str, *, up_to: str | None = None) -> Iterator[t.Change]:
        """All rows that changed since a snapshot, each once, up to the first page's snapshot, or `up_to`."""
        for page in self.change_pages(since, kind, up_to):
            yield from page["data"]

    def change_pages(self, since: str, kind: str, up_to: str | None = None) -> Iterator[t.ChangePage]:
        """These rows in pages, which name the snapshot that they lead to."""
        query: dict[str, object] = {"since": since, "kind": kind, "limit": 5000 if kind == "prices" else 1000}
        given: set[object] = set()
        restarts = 0
        while True:
            try:
                pinned = {"X-Snapshot-Id": up_to} if up_to else None
                page: t.ChangePage = _decode(self.transport.call("GET", "/v1/changes", query, headers=pinned))
            except CursorExpired:
                restarts += 1
                if restarts > _RESTARTS:
                    raise
                del query["cursor"]
                continue

            up_to = page["snapshot_id"]
            rows = {(row["id"], row.get("variant"), row.get("condition")): row for row in page["data"]}
            page["data"] = [row for name, row in rows.items() if name not in given]
            given |= rows.keys()
            yield page
            query["cursor"] = page["next_cursor"]
            if not query["cursor"]:
                return

    def bulk(self) -> tuple[t.BulkList, float]:
        """The files of the whole catalog, and the seconds to wait if there are none yet."""
        answer = self.transport.call("GET", "/v1/bulk")
        return _decode(answer), retry_after(answer.headers.get("Retry-After")) or 0

    def served(self) -> tuple[str, str]:
        """The id of the snapshot that is served now, and its time. It is free to ask."""
        answer = self.transport.call("GET", "/v1/usage")
        return answer.headers["X-Snapshot-Id"], _decode(answer)["meta"]["snapshot_at"]

    def _get(self, path: str, query: Mapping[str, object] | None = None) -> Any:
        return _decode(self.transport.call("GET", path, query, cached=True))


_JSON = {"Content-Type": "application/json"}
_CSV = {"Accept": "text/csv"}


def _encode(body: Mapping[str, object]) -> bytes:
    return json.dumps(body).encode()


def _decode(answer: Answer) -> Any:
    try:
        return json.loads(answer.body)
    except ValueError as reason:  # the page of a proxy
        raise Unreachable("a call", 1, reason) from reason


def _segment(name: str) -> str:
    """An id as a part of a path; an empty one would name the list."""
    if not name:
        raise NinepocketError("cannot ask for an empty id")
    return quote(name, safe="")


def _grouped(texts: Sequence[str], around: int, longest: int) -> list[list[str]]:
    """Cuts texts into groups, each within the limits of one valuation by number and bytes."""
    groups: list[list[str]] = []
    size = 0
    for text in texts:
        length = len(text.encode()) + 1
        if not groups or len(groups[-1]) == longest or size + length > _BODY:
            groups.append([])
            size = around
        groups[-1].append(text)
        size += length
    return groups


def _lane(selection: t.PriceSelection) -> str:
    """A selection in the form of the Idempotency-Key; the clients of all languages agree on it."""
    return "\t".join(str(selection.get(name, "")) for name in ("kind", "product_id", "variant", "condition"))
