"""A program of version 0.1.0, which is never changed: a type checker must accept it with every later version."""

from ninepocket import APIError, Client, Mirror, NinepocketError, QuotaExceeded, Unauthorized, Unreachable
from ninepocket.types import CardDetail, PriceSelection, VariantPrice


def lane(price: VariantPrice) -> str:
    return f"{price['variant']} {price['condition']} {price['market_price_cents']:d} {price['currency']}"


def reads(base: str, key: str) -> list[str]:
    said: list[str] = []
    with Client(base, key, deadline=60, try_timeout=20, max_tries=8, user_agent="shop/1") as client:
        for card in client.cards(q="charizard", sort="price_desc", include="prices", limit=50):
            cents: int | None = card["price"]["market_price_cents"]
            said += [card["id"], card["name"], card["number"] or "", card["set"]["name"] if card["set"] else ""]
            said += [str(cents), *map(lane, card.get("prices", []))]
        said += [record["name"] + (record["release_date"] or "") for record in client.sets(game="pokemon")]
        said += [f"{mover['id']} {mover['price_change_percent']}" for mover in client.movers(direction="down", limit=5)]
        said += [suggestion["kind"] + suggestion["text"] for suggestion in client.suggest(q="chari")]
        detail: CardDetail = client.card("card_5vfvbdg5zt4y47pl", fields=["name", "prices"])
        said += map(lane, detail["prices"])
        batch = client.cards_batch(["a"], ["tcgplayer:1"], fields=["name"])
        said += [card.get("ref", "") for card in batch["data"]] + batch["not_found"]
        histories = client.histories_batch(["a"], days=7)
        said += histories["dates"] + [str(card["lanes"][0]["market_price_cents"]) for card in histories["data"]]
        said += [cell for row in client.batch_csv("prices", ["a"]) for cell in row]
        worth = client.value([{"line": "2x Charizard 4/102"}, {"name": "Pikachu", "quantity": 3}])
        said += [str(worth["totals"]["exact_cents"]), worth["items"][0]["status"]]
        said.append(str(client.usage()["data"]["request_credits_remaining"]))
        for row in client.changes("snapshot", "prices"):
            price = row.get("price")
            said += [row["id"], row["change"], str(price["market_price_cents"]) if price else ""]
    return said


def pays(client: Client) -> int:
    selections: list[PriceSelection] = []
    for product in client.products(kind="card"):
        if product["kind"] == "sealed":
            selections.append({"kind": "sealed", "product_id": product["id"]})
        else:
            for option in product["price_options"]:
                selections.append({"kind": "card", "product_id": product["id"],
                                   "variant": option["variant"], "condition": option["condition"]})  # fmt: skip
    cents = 0
    for result in client.preview_prices("night-1", selections):
        if result["status"] == "missing":
            print(result["missing_reason"])
        else:
            cents += result["price"]["amount_cents"]
    return cents


def keeps(client: Client) -> str | None:
    try:
        mirror = Mirror(client, "folder")
        if mirror.sync():
            for card in mirror.cards():
                print(card["name"], len(mirror.prices(card["id"])), mirror.set("set_1"))
        return mirror.snapshot_id
    except (Unauthorized, QuotaExceeded) as refused:
        print(refused.advice)
    except APIError as refused:
        print(refused.code, refused.status, refused.detail, refused.request_id, refused.retry_after, refused.problems)
    except (Unreachable, NinepocketError) as failed:
        print(failed)
    return None
