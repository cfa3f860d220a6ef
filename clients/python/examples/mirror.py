"""Keeps a local copy of the catalog in a folder, and shows its most expensive cards. Run it once a day."""

import os
import sys

from ninepocket import Client, Mirror

with Client(os.environ["API"], os.environ["KEY"], deadline=300) as client:
    mirror = Mirror(client, sys.argv[1])
    print("something was new" if mirror.sync() else "nothing was new", "in", mirror.snapshot_id)

expensive = sorted(mirror.cards(), key=lambda card: -max((p["market_price_cents"] for p in card["prices"]), default=0))
for card in expensive[:5]:
    print(card["name"], card["number"], [p["market_price_cents"] / 100 for p in card["prices"]])
