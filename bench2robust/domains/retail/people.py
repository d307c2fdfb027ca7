"""The users of the built-in suite: invented people, addresses and payment methods."""

from __future__ import annotations

from collections.abc import Sequence

from bench2robust.domains.retail.data import Record
from bench2robust.domains.retail.draws import Draws

__all__ = ["CARDS", "make_address", "make_user", "method_label", "show_address"]


def _listed(text: str, mark: str = " ") -> list[str]:
    return text.strip().replace("\n", mark if mark == " " else "").split(mark)


_FIRST = _listed("""
Adela Alaric Amina Anselm Arlo Astrid Aurel Beatrix Benno Bram Brisa Caspian Celeste Corin Dalia
Darius Delphine Edda Eamon Elio Elowen Esme Farah Felix Fiora Freya Gideon Greta Hadley Hana Hugo
Idris Ilse Imani Inez Jonas Jorah Juno Kaito Kamala Kerem Lars Leila Linnea Lorcan Lucia Mabel
Malik Marek Mina Naoko Nadia Nils Nyla Odette Olin Orla Oskar Paloma Petra Quentin Rafe Ramona
Reza Rhea Roland Rosalind Saskia Selim Sigrid Soren Talia Tamsin Theo Tobias Ulla Vera Viggo
Wanda Wilder Xenia Yasmin Yorick Zadie Zeno
""")
_LAST = _listed("""
Abernathy Aldana Ambrose Arvidson Ashdown Bakshi Barrow Bellweather Birchall Blackwood Boateng
Brightman Calloway Castellan Chaudhry Clearwater Coldwell Corvin Dalgaard Danforth Deverell Dietz
Eastley Ekberg Ellsworth Everard Fairbairn Falconer Farrow Fenwick Galloway Garrick Goldsmith
Greenhalgh Hallam Hartwell Hawksworth Holloway Ibarra Ingram Jankowski Jellicoe Kapoor Karlsen
Kestrel Kimura Kirkland Lacroix Langley Larkspur Lindqvist Lockhart Maddox Marchetti Marlowe
Merriweather Montague Nakagawa Narayan Nightingale Oakley Obi Okafor Orlov Osterberg Paxton
Penrose Pemberton Quayle Quillfeather Radcliffe Ravenscroft Redfern Rosario Rutherford Sable
Sandoval Selwyn Shah Silverton Stavros Tanaka Thackeray Thistlewood Underhill Valdez Vandermeer
Vaughn Wakefield Westergaard Whitlock Winterbourne Yardley Yilmaz Zabala Zimmer
""")
_STREETS = _listed(
    """
Alder Court,Bramble Way,Candlewick Lane,Copper Mill Road,Dovecote Street,Eastwind Avenue,
Fiddler Close,Foxglove Drive,Gantry Street,Harbor Steps,Heron Walk,Juniper Rise,Kiln Road,
Lantern Street,Marigold Lane,Mistletoe Avenue,Nutmeg Court,Orchard Gate,Pebble Beach Road,
Quarry Lane,Rookery Drive,Saddlers Row,Thimble Street,Umber Way,Vintner Road,Willowherb Lane,
Windmill Terrace,Yarrow Street
""",
    ",",
)
# Invented towns; state and first digits of the zip code belong together.
_TOWNS = [
    tuple(entry.split("/"))
    for entry in _listed(
        """
Brindleton/OR/974,Cawthorn Falls/WA/985,Duskmere/CA/954,Eldermoor/ID/836,Fallowridge/MT/597,
Graymarsh/MN/563,Hollowbrook/WI/547,Ivybrook/IL/617,Jasper Cove/MI/497,Kettle Springs/OH/448,
Larchmont Bay/NY/129,Merrowdale/VT/057,Northolm/ME/046,Otterford/NH/036,Pinewhistle/PA/158,
Quillan/VA/228,Ravensport/NC/278,Stonehollow/TN/377,Thornbarrow/KY/406,Upper Wexley/IN/477,
Velden/MO/648,Wrenfield/KS/676,Yewdale/NE/686,Zephyr Point/TX/788,Ambermoor/OK/747,
Blue Hollow/NM/875,Coppersand/AZ/856,Driftwood Key/FL/339,Easterby/GA/317,Farrowgate/SC/297
""",
        ",",
    )
]
CARDS = (
    ("credit_card", "paypal"),
    ("credit_card", "paypal", "gift_card"),
    ("credit_card", "credit_card", "gift_card"),
)


def make_address(draws: Draws) -> Record:
    """Return an address with both lines filled."""
    city, state, zone = draws.pick(_TOWNS)
    unit = draws.pick(("Apt", "Suite", "Unit"))
    return {
        "address1": f"{10 + draws.below(980)} {draws.pick(_STREETS)}",
        "address2": f"{unit} {10 + draws.below(980)}",
        "city": city,
        "country": "USA",
        "state": state,
        "zip": f"{zone}{draws.below(100):02d}",
    }


def show_address(address: Record) -> str:
    """Return an address as a user says it; every field stands in it as it is stored."""
    return "{address1}, {address2}, {city}, {state} {zip}, {country}".format_map(address)


def make_user(draws: Draws, taken: set[str], cards: Sequence[Sequence[str]] = CARDS) -> Record:
    """Return a user without orders.

    Args:
        taken: ids and names already used; the new ones are added.
        cards: the kinds of payment methods that the user may have, one entry to be drawn.
    """
    while True:
        first, last, address = draws.pick(_FIRST), draws.pick(_LAST), make_address(draws)
        if (person := f"{first} {last} {address['zip']}") not in taken:
            break
    taken.add(person)
    handle = f"{first}_{last}_".lower()
    mail = draws.fresh(f"{first}.{last}".lower(), 4, taken)
    return {
        "user_id": draws.fresh(handle, 4, taken),
        "name": {"first_name": first, "last_name": last},
        "address": address,
        "email": f"{mail}@example.com",
        "payment_methods": _methods(draws, taken, cards),
        "orders": [],
    }


def _methods(draws: Draws, taken: set[str], cards: Sequence[Sequence[str]]) -> dict[str, Record]:
    brands = draws.sample(("visa", "mastercard"), 2)
    methods = {}
    for source in draws.pick(cards):
        made: Record = {"source": source, "id": draws.fresh(f"{source}_", 7, taken)}
        if source == "credit_card":
            made |= {"brand": brands.pop(), "last_four": draws.digits(4)}
        elif source == "gift_card":
            made["balance"] = (1500 + draws.below(60000)) / 100
        methods[made["id"]] = made
    return methods


def method_label(method: Record) -> str:
    """Return how its owner calls a payment method; unique among a user's methods."""
    if method["source"] == "credit_card":
        return f"my {method['brand'].capitalize()} card ending in {method['last_four']}"
    return "my PayPal account" if method["source"] == "paypal" else "my gift card"
