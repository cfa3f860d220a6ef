"""A scanner at a counter: completes a typed name, then prices the lines that a camera read.

Lines of the input: `? words` completes words, `name;number;set` prices a card.
"""

import os
import sys

from ninepocket import Client, InvalidRequest

with Client(os.environ["API"], os.environ["KEY"], deadline=5) as client:
    for line in sys.stdin:
        if line.startswith("?"):
            for suggestion in client.suggest(q=line[1:].strip(), limit=5):
                print(f"  {suggestion['kind']}: {suggestion['text']} ({suggestion['cards']} cards)")
            continue

        name, number, set_name = [*line.strip().split(";"), "", ""][:3]
        try:
            words = f"{name} {number} {set_name}".strip()
            found = next(client.cards(q=words, include="prices", limit=1), None)
        except InvalidRequest as problem:
            print(problem.detail)
            continue
        if found is None:
            print("no such card:", words)
        else:
            prices = [f"{p['variant']} {p['condition']} {p['market_price_cents'] / 100:.2f}" for p in found.get("prices", [])]
            print(found["name"], found["number"], "/", ", ".join(prices) or "no price")
