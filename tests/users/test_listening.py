import pytest

from bench2robust.users.listening import listen

TOPICS = ("email", "name", "zip", "order", "item", "options", "payment", "reason", "address")


@pytest.mark.parametrize(
    ("said", "topics"),
    [
        ("Please provide your email address.", ("email",)),
        (
            "To verify your identity, I need your email, or your name and zip code.",
            ("email", "name", "zip"),
        ),
        ("Could you verify your identity?", ("email", "name", "zip")),
        ("In order to find you, may I have your postal code?", ("zip",)),
        ("Which order would you like to cancel?", ("order",)),
        ("What is the product name?", ("item",)),
        ("Which size and colour do you prefer?", ("options",)),
        ("Should the refund go to your gift card or to the card that you paid with?", ("payment",)),
        ("Why do you want to cancel?", ("reason",)),
        ("What is the new shipping address?", ("address",)),
        ("Please provide:\n- your email\n- the order number", ("email", "order")),
        ("Please provide the following:\n\n1. Full name\n2. Zip code", ("name", "zip")),
        ("I will cancel this:\n- Order: #W0000001\n- Reason: no longer needed\nShall I?", ()),
        ("I return the items of order #W0000001 to your card. Do you confirm (yes/no)?", ()),
        ("The refund went to your PayPal account.", ()),
        ("How is the weather?", ()),
    ],
)
def test_topics_are_those_that_are_asked_about(said: str, topics: tuple[str, ...]) -> None:
    assert listen(said, TOPICS).topics == topics


@pytest.mark.parametrize(
    "said",
    [
        "Do you confirm?",
        "Shall I go ahead?",
        "Please reply yes to proceed.",
        "Is that correct?",
        "Is everything above correct?",
        "Would you like me to cancel it?",
        "Please confirm the cancellation of your order (yes/no).",
        "I need your confirmation.",
    ],
)
def test_requests_for_agreement(said: str) -> None:
    heard = listen(said, TOPICS)
    assert heard.confirm
    assert heard.question


@pytest.mark.parametrize(
    "said",
    [
        "Please confirm your email.",
        "I can confirm that your order has been cancelled.",
        "Before I proceed, please provide your zip code.",
        "Which items would you like to return?",
        "Your order has been cancelled. You will receive a confirmation email.",
    ],
)
def test_what_only_sounds_like_a_request_for_agreement(said: str) -> None:
    assert not listen(said, TOPICS).confirm


@pytest.mark.parametrize(
    "said",
    ["Everything you asked for has been done.", "The total is $41.23.", "Done!"],
)
def test_statements_are_no_questions(said: str) -> None:
    heard = listen(said, TOPICS)
    assert not heard.question
    assert not heard.working


@pytest.mark.parametrize(
    ("said", "working"),
    [
        ("Let me look up your order.", True),
        ("One moment, please.", True),
        ("Your order has been cancelled. Let me check the other one.", True),
        ("I'd be happy to help with that!", True),
        ("Let me see. It has been cancelled.", False),
    ],
)
def test_an_agent_at_work_is_not_done(said: str, working: bool) -> None:
    assert listen(said, TOPICS).working is working


@pytest.mark.parametrize(
    ("said", "everything"),
    [
        ("Could you share all the details I need?", True),
        ("Is there anything else I should know?", True),
        ("Could you give me more information?", True),
        ("Could you give me more information about the item?", False),
        ("Is there anything else I can help you with?", False),
    ],
)
def test_requests_for_everything(said: str, everything: bool) -> None:
    assert listen(said, TOPICS).all is everything


@pytest.mark.parametrize(
    "said",
    ["Is there anything else I can do?", "Let me know if you have any other questions."],
)
def test_closing_offers(said: str) -> None:
    heard = listen(said, TOPICS)
    assert heard.closing
    assert not heard.question


@pytest.mark.parametrize(
    ("said", "transfer"),
    [
        ("YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON.", "announced"),
        ("I am transferring you to a human agent now.", "announced"),
        ("Would you like me to transfer you to a human agent?", "offered"),
        ("I will transfer the refund to your gift card.", ""),
    ],
)
def test_transfers(said: str, transfer: str) -> None:
    assert listen(said, TOPICS).transfer == transfer


def test_a_topic_without_keywords_is_found_by_its_name() -> None:
    assert listen("What about the warranty?", ("warranty",)).topics == ("warranty",)


def test_only_the_beginning_of_a_long_message_is_read() -> None:
    assert listen("x" * 19_000 + ". What is your email?", TOPICS).topics == ("email",)
    assert listen("x" * 21_000 + ". What is your email?", TOPICS).topics == ()
