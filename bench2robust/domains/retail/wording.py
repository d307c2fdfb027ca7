"""What the users of the built-in suite say.

Every sentence stands on its own (it names the order or the product that it is about), so it can be
said in the opening, as the answer to a question, or as a change of mind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bench2robust.core.types import UserScript
from bench2robust.domains.retail.data import Record
from bench2robust.domains.retail.draws import Draws

__all__ = ["Part", "listed", "make_script", "options_text", "say"]

_PHRASES: Mapping[str, tuple[str, ...]] = {
    "order": (
        "my order with the {name}",
        "the order that has the {name} in it",
        "my order that included the {name}",
    ),
    "known": ("The order number that I have is {number}.", "I have the order number {number}."),
    "older": (
        "I do not have that number at hand. The only one I can find is {number}, from an "
        "older order.",
        "I only know the number of an older order of mine, {number}.",
    ),
    "cancel": ("I want to cancel {order}.", "Please cancel {order}.", "I need {order} cancelled."),
    "reason": (
        "The reason why I cancel {order} is '{reason}'.",
        "As the reason for cancelling {order}, please note '{reason}'.",
        "I am cancelling {order} for this reason: {reason}.",
    ),
    "cancel_money": (
        "Tell me exactly how much money I get back for {order}.",
        "I also need the exact refund for {order}.",
    ),
    "address": (
        "I want to change the shipping address of {order}.",
        "The shipping address of {order} is out of date.",
        "Please correct the shipping address of {order}.",
    ),
    "new_address": (
        "Please ship {order} to {address}.",
        "The new shipping address for {order} is {address}.",
        "Send {order} to this address: {address}.",
    ),
    "profile_address": (
        "Please ship {order} to the default address in my profile, in the USA.",
        "Send {order} to the address in the USA that is stored in my account.",
        "For {order}, use the default address of my account, in the USA.",
    ),
    "payment": (
        "I want to change the payment method of {order}.",
        "I would like to pay for {order} in a different way.",
        "Please switch the payment method of {order}.",
    ),
    "new_payment": (
        "Please charge {order} to {method}.",
        "Let {order} be paid with {method}.",
        "The new payment method for {order} is {method}.",
    ),
    "payment_money": (
        "Tell me the exact amount that is charged for {order}.",
        "I also need to know what exactly {order} comes to.",
    ),
    "modify": (
        "I want to change the {names} in {order} to another version.",
        "Please swap the {names} in {order} for a different version before it ships.",
        "I picked the wrong version of the {names} in {order} and want to modify that.",
    ),
    "exchange": (
        "I want to exchange the {names} from {order} for another version.",
        "The {names} from {order} should be exchanged for a different version.",
        "I received the {names} from {order} and would like a different version.",
    ),
    "option": (
        "The new {name} should have {options}, everything else as it is now.",
        "I want the new {name} with {options}; the rest stays the same.",
        "Make the new {name} one with {options}, otherwise like the present one.",
    ),
    "cheapest": (
        "The new {name} should be the cheapest other version that is in stock.",
        "As the new {name}, I want the least expensive other version in stock.",
    ),
    "prefer": (
        "The new {name} should have {wanted} if that version is in stock. If it is not, "
        "I want the {name} with {options}. Whatever I did not name stays as it is now.",
    ),
    "difference": (
        "Settle the price difference for the {names} with {method}.",
        "Please use {method} for the price difference on the {names}.",
        "Any difference in price for the {names} goes to {method}.",
    ),
    "gift_first": (
        "Use my gift card for the price difference on the {names} if its balance covers "
        "it, otherwise {method}.",
    ),
    "swap_money": (
        "Tell me the exact price difference for the {names}.",
        "I also want to hear the exact difference in price for the {names}.",
    ),
    "return": (
        "I want to return the {names} from {order}.",
        "Please take back the {names} from {order}.",
        "I would like to send back the {names} from {order}.",
    ),
    "return_vague": (
        "I want to return something from {order}.",
        "I would like to send back a part of {order}.",
    ),
    "refund": (
        "The refund for what I return from {order} should go to {method}.",
        "Please refund what I send back from {order} to {method}.",
    ),
    "return_money": (
        "Tell me the exact refund for what I return from {order}.",
        "How much exactly do I get back for the goods from {order}?",
    ),
    "user": (
        "I have moved and want my account updated.",
        "Please change the default address of my account.",
        "The default address in my profile needs to be changed.",
    ),
    "user_address": (
        "The new default address of my account is {address}.",
        "From now on my default address is {address}.",
        "As the default address of my profile, enter {address}.",
    ),
    "total": ("Tell me what exactly I paid for {order}.", "I need to know the total of {order}."),
    "tracking": (
        "Tell me the tracking number of {order}.",
        "I would like to have the tracking id of {order}.",
    ),
    "price": (
        "Tell me the current price of the {name} with {options}.",
        "What does the {name} with {options} cost at the moment?",
    ),
    "low_price": (
        "Tell me what the cheapest {name} that is in stock costs.",
        "I want to know the lowest price of a {name} that is in stock.",
    ),
    "compare": (
        "Tell me by how much the most expensive {name} is dearer than the cheapest one, "
        "over all versions, in stock or not.",
    ),
    "change": (
        "Actually, I have changed my mind. {text} That replaces what I said before.",
        "Actually, let me correct something. {text} Forget what I said about that before.",
        "Actually, one thing is different now. {text} Take this instead of what I said.",
    ),
    "greeting": ("Hello!", "Hi there.", "Good morning.", "Hello, I need some help.", "Hi!"),
    "link": ("Another thing: ", "Besides that: ", "Also: ", "And then: ", ""),
}


class Part(NamedTuple):
    """One sentence of a wish.

    Attributes:
        topic: what a question must be about to get this sentence as the answer.
        text: the sentence; it states the final wish.
        initial: the sentence with another wish, later replaced; empty if there is none.
        vague: the sentence with its detail left out; None if it cannot be left out.
    """

    topic: str
    text: str
    initial: str = ""
    vague: str | None = None


def say(draws: Draws, phrase: str, **words: str) -> str:
    """Return one wording of a phrase."""
    return draws.pick(_PHRASES[phrase]).format_map(words)


def listed(names: Sequence[str]) -> str:
    """Return ``A``, ``A and the B`` or ``A, the B and the C``."""
    return " and the ".join(filter(None, (", the ".join(names[:-1]), names[-1])))


def options_text(options: Mapping[str, str]) -> str:
    """Return options as a user says them."""
    return " and ".join(f"{name}: {value}" for name, value in options.items())


def make_script(
    draws: Draws,
    intent: str,
    user: Record,
    number: str,
    names: Iterable[str],
    wishes: Sequence[Sequence[Part]],
    by_email: bool,
) -> UserScript:
    """Return the script of a user with these wishes, one sequence of parts each.

    Args:
        names: how the user calls the orders; said once a wish in the opening, then "that order".
        number: the sentence about the order number that the user knows; if empty, none is known,
            and the user opens with email, name and zip code.
        by_email: whether the user comes forward with the email rather than name and zip code.
    """
    spot = _spot(draws, intent, wishes)
    facts = _identity(user)
    opening = [say(draws, "greeting")]
    if not number:
        opening += facts.values()
    elif draws.chance(50):
        opening.append(facts["email"] if by_email else f"{facts['name']} {facts['zip']}")
    if number:
        facts["order"] = number
    for index, wish in enumerate(wishes):
        opening.append((say(draws, "link") if index else "") + _told(wish, spot, intent, names))
    for part in (part for wish in wishes for part in wish):
        if part.topic and not (intent == "changing" and part is spot):
            facts[part.topic] = f"{facts.get(part.topic, '')} {part.text}".strip()
    changes = (say(draws, "change", text=spot.text),) if intent == "changing" else ()
    text = " ".join(opening)
    return UserScript(text, facts, changes, _instructions(user, text, facts.values(), changes))


def _spot(draws: Draws, intent: str, wishes: Sequence[Sequence[Part]]) -> Part:
    """Return the part that is left out (ambiguous) or first said otherwise (changing)."""
    parts = [part for wish in wishes for part in wish]
    if intent == "ambiguous":
        return draws.pick([part for part in parts if part.vague is not None])
    if intent == "changing":
        return draws.pick([part for part in parts if part.initial])
    return Part("", "")


def _told(wish: Iterable[Part], spot: Part, intent: str, names: Iterable[str]) -> str:
    texts: list[str] = []
    for part in wish:
        text = part.text
        if part is spot:
            text = part.initial if intent == "changing" else part.vague or ""
        if texts:
            for name in names:
                text = text.replace(name, "that order")
        texts.append(text)
    return " ".join(filter(None, texts))


def _identity(user: Record) -> dict[str, str]:
    name = user["name"]
    return {
        "email": f"My email is {user['email']}.",
        "name": f"My name is {name['first_name']} {name['last_name']}.",
        "zip": f"My zip code is {user['address']['zip']}.",
    }


def _instructions(user: Record, opening: str, facts: Iterable[str], changes: Sequence[str]) -> str:
    lines = [
        f"You are {user['name']['first_name']} {user['name']['last_name']}, a customer of an "
        "online shop, and you write to its service.",
        f"Begin with: {opening}",
        f"Tell the following only when you are asked for it: {' '.join(facts)}",
    ]
    lines += [
        "When the assistant asks you to confirm for the first time, or says that it is done, do "
        f"not agree yet; say this and stay with it: {change}"
        for change in changes
    ]
    lines.append("You know nothing else. Confirm what matches your wishes, and nothing else.")
    return "\n".join(lines)
