"""Watches which prices move: prints each card once that rose more than 10 percent. Ends after ROUNDS looks."""

import os
import time

from ninepocket import Client

rounds, pause = int(os.environ.get("ROUNDS", "0")), float(os.environ.get("PAUSE", "300"))
seen: set[tuple[str, int | None]] = set()
done = 0
with Client(os.environ["API"], os.environ["KEY"]) as client:
    while True:
        # Until the next release the response is a 304, which does not count against the day.
        for mover in client.movers(direction="up", limit=50):
            percent = mover["price_change_percent"] or 0
            if percent > 10 and (mover["id"], mover["market_price_cents"]) not in seen:
                seen.add((mover["id"], mover["market_price_cents"]))
                print(f"{percent:+8.2f} %  {mover['name']} {mover['number'] or ''}  {mover['url']}")
        done += 1
        if done == rounds:
            break
        time.sleep(pause)
