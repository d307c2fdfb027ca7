"""The products of the built-in suite: fifty types, their options and their variants."""

from __future__ import annotations

from itertools import product as combinations

from bench2robust.domains.retail.data import Record
from bench2robust.domains.retail.draws import Draws

__all__ = ["make_products"]

# name | price in dollars | option: values | …
_TYPES = """
Camp Stove | 64 | fuel: butane, propane, alcohol | burners: single, double | color: green, black
Hammock | 48 | width: single, double | fabric: nylon, cotton, canvas | color: teal, olive, red
Sleeping Bag | 115 | rating: summer, winter, polar | length: regular, long | filling: down, wool
Trekking Pole | 72 | material: aluminum, carbon | grip: cork, foam, rubber | length: fixed, folding
Headlamp | 39 | beam: wide, narrow | power: battery, rechargeable | color: yellow, black, blue, red
Cooler Box | 88 | capacity: 20 liters, 35 liters, 50 liters | wheels: yes, no | color: white, blue
Fishing Rod | 94 | length: 6 feet, 7 feet, 8 feet | action: slow, medium, fast | handle: cork, foam
Snorkel Set | 56 | fit: child, adult | lens: clear, tinted, mirrored | color: aqua, black, pink
Swim Mask | 31 | fit: small, medium, large | lens: clear, tinted | strap: silicone, fabric
Tennis Racket | 137 | weight: light, medium, heavy | grip size: L1, L2, L3 | string: gut, nylon
Badminton Net | 43 | width: 10 feet, 14 feet, 17 feet | frame: steel, carbon | color: green, blue
Basketball | 35 | size: 5, 6, 7 | surface: indoor, outdoor | cover: leather, composite, rubber
Resistance Band | 22 | strength: light, medium, heavy | shape: loop, flat, tube | color: blue, black
Kettlebell | 58 | weight: 8 kg, 12 kg, 16 kg, 24 kg | coating: vinyl, enamel | handle: wide, slim
Foam Roller | 34 | density: soft, medium, firm | length: short, long | surface: smooth, ridged
Rowing Machine | 486 | resistance: water, air, magnetic | frame: wood, steel | display: basic, color
Rice Cooker | 79 | capacity: 3 cups, 6 cups, 10 cups | bowl: steel, ceramic | color: white, red
Toaster | 52 | slots: two, four | finish: steel, matte, glossy | color: cream, black, mint
Blender | 99 | jar: glass, plastic, steel | speeds: 3, 6, 10 | color: black, silver
Stand Mixer | 289 | bowl: 4 quarts, 5 quarts, 7 quarts | head: tilting, fixed | color: red, grey
Chef Knife | 84 | blade: 6 inch, 8 inch, 10 inch | steel: carbon, stainless | handle: oak, resin
Cutting Board | 37 | material: bamboo, maple, rubber | size: small, medium, large | groove: yes, no
Iron Skillet | 45 | diameter: 8 inch, 10 inch, 12 inch | lid: glass, iron | handle: long, short
Muffin Pan | 19 | cups: 6, 12, 24 | material: steel, silicone | color: grey, gold, black
Spice Rack | 41 | mount: wall, counter, drawer | material: bamboo, steel | jars: 12, 20
Lunch Box | 26 | compartments: two, three, four | insulation: yes, no | color: navy, coral, lime
Wine Glass Set | 49 | pieces: 2, 4, 6 | shape: flute, tulip, balloon | stem: long, none
Dinner Plate Set | 68 | pieces: 4, 6, 8 | material: stoneware, porcelain | glaze: white, blue, sand
Tablecloth | 33 | shape: round, square, oblong | fabric: linen, cotton | color: ivory, sage, rust
Bath Towel | 24 | size: hand, bath, sheet | fabric: cotton, bamboo | color: white, slate, plum
Shower Curtain | 29 | length: standard, extra long | print: plain, striped, leaves | lined: yes, no
Duvet Cover | 76 | size: twin, queen, king | fabric: cotton, linen, satin | color: white, indigo
Memory Pillow | 54 | height: low, medium, high | firmness: soft, firm | cover: cotton, tencel
Area Rug | 162 | size: 4x6 feet, 5x8 feet, 8x10 feet | pile: short, shaggy | color: grey, navy
Floor Mirror | 128 | shape: arched, round, straight | frame: oak, brass, black | mount: stand, wall
Coat Stand | 61 | hooks: 6, 8, 12 | material: beech, steel | base: round, tripod
Bar Stool | 109 | height: counter, bar | seat: leather, velvet, wood | color: tan, green, black
Standing Desk | 412 | width: 48 inch, 60 inch, 72 inch | drive: manual, electric | top: oak, white
Monitor Arm | 93 | arms: single, dual, triple | mount: clamp, grommet | color: black, silver, white
Webcam | 82 | resolution: 720p, 1080p, 4K | focus: fixed, auto | cover: yes, no
USB Microphone | 118 | pattern: cardioid, omni, stereo | stand: desk, arm | color: black, white
Graphics Pad | 147 | area: small, medium, large | pen: passive, tilt | link: cable, wireless
Label Printer | 103 | width: 12 mm, 24 mm, 36 mm | link: cable, wireless | power: battery, mains
Power Strip | 27 | sockets: 4, 6, 8 | cord: 3 feet, 6 feet | usb ports: yes, no
Dash Camera | 134 | resolution: 1080p, 1440p, 4K | view: front, both | mount: glue, suction
Rain Jacket | 97 | size: S, M, L, XL | cut: regular, slim | color: yellow, navy, forest
Wool Scarf | 46 | length: short, long | knit: fine, chunky, ribbed | color: camel, grey, wine
Leather Belt | 38 | size: S, M, L, XL | width: narrow, wide | buckle: brass, nickel
Canvas Tote | 32 | size: small, medium, large | closure: zip, snap, open | color: natural, black
Ukulele | 86 | body: soprano, concert, tenor | wood: mahogany, koa, spruce | strings: nylon, carbon
"""


def make_products(seed: int) -> dict[str, Record]:
    """Return the products by id, with prices and stock that depend on ``seed``."""
    draws = Draws("retail", seed, "catalog")
    taken: set[str] = set()
    made = [_product(line, draws, taken) for line in _TYPES.strip().splitlines()]
    return {record["product_id"]: record for record in made}


def _product(line: str, draws: Draws, taken: set[str]) -> Record:
    name, price, *texts = line.split(" | ")
    options = {k: v.split(", ") for k, v in (text.split(": ") for text in texts)}
    grid = list(combinations(*options.values()))
    chosen = draws.sample(grid, min(len(grid), 8 + draws.below(9)))
    cents = _prices(int(price), chosen, list(options.values()), draws)
    variants = {}
    for index, values in enumerate(chosen):
        item = draws.fresh("", 10, taken)
        variants[item] = {
            "item_id": item,
            "options": dict(zip(options, values, strict=True)),
            # At least five are in stock, so that every wish has more than one answer.
            "available": index < 5 or draws.chance(70),
            "price": cents[index] / 100,
        }
    return {"name": name, "product_id": draws.fresh("", 10, taken), "variants": variants}


def _prices(
    dollars: int, chosen: list[tuple[str, ...]], options: list[list[str]], draws: Draws
) -> list[int]:
    """Return a price in cents for each variant: later values cost more; no two are equal."""
    prices: list[int] = []
    for values in chosen:
        level = sum(known.index(value) for known, value in zip(options, values, strict=True))
        # A last digit other than 0 keeps the written form the same with and without padding.
        tens = dollars * (85 + 6 * level + draws.below(12)) // 10
        cents = 10 * tens + 1 + draws.below(9)
        while cents in prices:
            cents += 10
        prices.append(cents)
    return prices
