"""A partner's nightly prices: every card product in each lane, into a CSV. If it is run again, it resumes.

Each part is stored before the next is requested, and the job id makes a part that was charged but not
stored a replay. So nothing is charged twice, however often it is interrupted within ten minutes.
"""

import csv
import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ninepocket import Client
from ninepocket.types import PriceResult, PriceSelection

job = sys.argv[2] if len(sys.argv) > 2 else f"nightly-{datetime.now(UTC):%Y-%m-%d}"
target = Path(sys.argv[1])
parts = target.with_suffix(f".{job}")
parts.mkdir(exist_ok=True)

with Client(os.environ["API"], os.environ["KEY"]) as client:
    # "fresh" is judged at the instant of the snapshot. A feed that stopped is seen by our own clock alone.
    _, snapshot_at = client.served()
    if datetime.now(UTC) - datetime.fromisoformat(snapshot_at) > timedelta(hours=36):
        sys.exit(f"the newest prices are of {snapshot_at}: nothing is priced by them")

    # The list is stored, too: the parts of a resumed job must be those of the first run.
    wanted = parts / "selections.json"
    if not wanted.exists():
        found: list[PriceSelection] = []
        for product in client.products(game="pokemon"):
            if product["kind"] == "card":
                for lane in product["price_options"]:
                    found.append({"kind": "card", "product_id": product["id"],
                                  "variant": lane["variant"], "condition": lane["condition"]})  # fmt: skip
        wanted.with_suffix(".new").write_text(json.dumps(found))
        wanted.with_suffix(".new").replace(wanted)
    selections: list[PriceSelection] = json.loads(wanted.read_text())

    for start in range(0, len(selections), 50):
        part = parts / f"{start:08}.json"
        if not part.exists():
            results = list(client.preview_prices(job, selections[start : start + 50]))
            part.with_suffix(".new").write_text(json.dumps(results))
            part.with_suffix(".new").replace(part)

with target.open("w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["product_id", "variant", "condition", "status", "cents", "as_of"])
    for part in sorted(parts.glob("0*.json")):
        stored: list[PriceResult] = json.loads(part.read_text())
        for result in stored:
            chosen, price, seen = result["selection"], result["price"], result["observation"]
            lane = [chosen["variant"], chosen["condition"]] if chosen["kind"] == "card" else ["", ""]
            rows.writerow([chosen["product_id"], *lane, result["status"],
                           price["amount_cents"] if price else "", seen and seen["source_as_of"]])  # fmt: skip
print(f"{len(selections)} prices in {target}")
