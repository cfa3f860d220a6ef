"""Prices a collection: a CSV that an app exported, or one with the columns Name, Set, Number and Qty."""

import os
import sys

from ninepocket import Client

with Client(os.environ["API"], os.environ["KEY"]) as client, open(sys.argv[1], encoding="utf-8-sig") as file:
    worth = client.value_csv(file.read())

for item in worth["items"]:
    card, cents = item["card"], item["total_cents"]
    if card is None or cents is None:
        print(f"row {item['index'] + 1}: {item['status']}: {item['note']}")
    else:
        print(f"{cents / 100:>10.2f}  {item['quantity']} x {card['name']} {card['number']}, {item['variant']}")
totals = worth["totals"]
print(f"{(totals['exact_cents'] + totals['assumed_cents']) / 100:>10.2f}  in all, at {worth['snapshot_at']}")
