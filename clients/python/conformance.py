"""Runs one job of the table of faults (../README.md): a JSON object in, a line of JSON out."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from ninepocket import APIError, Client, Mirror, NinepocketError


def rows_of(job: dict[str, Any], client: Client, missing: list[str]) -> Iterator[str]:
    """The rows of a job, one by one, so that those before an error are there."""
    match job["job"]:
        case "walk":
            yield from (card["id"] for card in client.cards(game="pokemon", sort="name"))
        case "sets":
            yield from (record["id"] for record in client.sets())
        case "products":
            yield from (product["id"] for product in client.products())
        case "card":
            for _ in range(2):
                card = client.card(job["ids"][0])
                yield _row(card["id"], card["prices"][0]["market_price_cents"] if card["prices"] else None)
        case "cards":
            cards = client.cards_batch(job["ids"], job["identifiers"])
            missing += cards["not_found"]
            yield from (_row(card["id"], len(card["prices"])) for card in cards["data"])
        case "prices":
            for row in list(client.batch_csv("prices", job["ids"], job["identifiers"]))[1:]:
                if row[3] == "ok":
                    yield _row(row[0], row[1])
                else:
                    missing.append(row[0])
        case "histories":
            histories = client.histories_batch(job["ids"], days=7)
            missing += histories["not_found"]
            yield from (_row(card["id"], len(card["lanes"])) for card in histories["data"])
        case "value":
            for item in client.value(job["items"])["items"]:
                yield _row(item["index"], item["status"], item["total_cents"])
        case "partner":
            for result in client.preview_prices(job["job_id"], job["selections"]):
                cents = result["price"]["amount_cents"] if result["price"] else None
                yield _row(result["selection"]["product_id"], result["status"], cents)
        case "movers":
            yield from (mover["id"] for mover in client.movers(direction="up"))
        case "mirror":
            mirror = Mirror(client, job["path"])
            mirror.sync()
            for card in mirror.cards():
                cents = sum(lane["market_price_cents"] for lane in card["prices"])
                yield _row(card["id"], len(card["prices"]), cents)
        case other:
            raise SystemExit(f"cannot run the job {other!r}")


def _row(*columns: object) -> str:
    return " ".join("null" if column is None else str(column) for column in columns)


def main() -> None:
    job: dict[str, Any] = json.load(sys.stdin)
    rows: list[str] = []
    missing: list[str] = []
    error: dict[str, object] | None = None
    try:
        client = Client(
            job["base_url"], job["key"], deadline=job["deadline_seconds"],
            try_timeout=job["try_timeout_seconds"], max_tries=job["max_tries"],
        )  # fmt: skip
        for row in rows_of(job, client, missing):
            rows.append(row)
            if len(rows) == 60 and job["job"] in ("walk", "sets", "products"):
                time.sleep(job.get("pause", 0))
    except APIError as refused:
        error = {"kind": "refused", "status": refused.status, "code": refused.code,
                 "request_id": refused.request_id, "message": str(refused)}  # fmt: skip
    except NinepocketError as failed:
        error = {"kind": "unreachable", "status": 0, "code": "", "request_id": "", "message": str(failed)}
    print(json.dumps({"rows": rows, "not_found": missing, "error": error}))


if __name__ == "__main__":
    main()
