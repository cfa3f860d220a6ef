"""The client's cost compared with http.client: CPU time of equal calls, as a ratio. API and KEY name a server.

With `--check` it fails if the mean of the four ratios is above 1.15. The rounds of both take turns,
and the median of their ratios counts, so that other work on the machine has no effect.
"""

import gzip
import http.client
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from ninepocket import Client

_ROUNDS, _LIMIT = 40, 1.15
_HEADERS = {"X-API-Key": os.environ["KEY"], "Accept-Encoding": "gzip", "User-Agent": "bare"}
_bare = http.client.HTTPConnection(urlsplit(os.environ["API"]).netloc)


def bare(method: str, path: str, body: object = None) -> Any:
    """A handwritten program: one keep-alive connection, no tries, no cache."""
    text = None if body is None else json.dumps(body)
    _bare.request(method, path, text, _HEADERS | ({"Content-Type": "application/json"} if text else {}))
    response = _bare.getresponse()
    content = response.read()
    if response.status != 200:
        raise RuntimeError(content)
    if response.headers.get("Content-Encoding") == "gzip":
        content = gzip.decompress(content)
    return json.loads(content)


def cost(call: Callable[[], object], times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - began) / times


def main() -> None:
    client = Client(os.environ["API"], os.environ["KEY"])
    ids = [card["id"] for card, _ in zip(client.cards(), range(200), strict=False)]
    calls: dict[str, tuple[Callable[[], object], Callable[[], object], int]] = {
        "one card": (lambda: client.card(ids[0]), lambda: bare("GET", f"/v1/cards/{ids[0]}"), 40),
        "a page of 20": (
            lambda: next(client.cards(game="pokemon", limit=20)),
            lambda: bare("GET", "/v1/cards?game=pokemon&limit=20"), 20),
        "100 prices": (
            lambda: client.prices_batch(ids[:100]),
            lambda: bare("POST", "/v1/prices/batch", {"ids": ids[:100]}), 20),
        "200 cards": (
            lambda: client.cards_batch(ids), lambda: bare("POST", "/v1/cards/batch", {"ids": ids}), 4),
    }  # fmt: skip

    # A card that is requested again is a 304, which is cheaper than the other side of the
    # comparison.
    fresh: dict[str, Any] = vars(client.transport)
    ratios: list[float] = []
    for name, (ours, theirs, times) in calls.items():
        rounds: list[tuple[float, float]] = []
        for _ in range(_ROUNDS):
            rounds.append((cost(lambda: (fresh["_cache"].clear(), ours()), times), cost(theirs, times)))
        ratio = statistics.median(us / bare_us for us, bare_us in rounds)
        us, bare_us = (min(column) * 1e6 for column in zip(*rounds, strict=True))
        ratios.append(ratio)
        print(f"{name:14} {us:8.0f} us beside {bare_us:8.0f} us: {ratio:.2f}")
    mean = statistics.geometric_mean(ratios)
    print(f"{'mean':14} {mean:40.2f}")
    if mean > _LIMIT and "--check" in sys.argv:
        raise SystemExit(f"the client costs more than {_LIMIT} of a bare one")


if __name__ == "__main__":
    main()
