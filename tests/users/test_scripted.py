from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.types import UserScript
from bench2robust.users import STOP, ScriptedUser

SCRIPT = UserScript(
    opening="I want to exchange my lamp.",
    facts={
        "email": "My email is ada@example.com.",
        "zip": "My zip code is 12345.",
        "options": "The new one should have fuel: propane.",
        "payment": "Use my gift card.",
    },
    changes=("Actually, return it instead.", "Actually, cancel everything."),
)
CONFIRM = "Do you confirm (yes/no)?"
FRAGMENTS = st.sampled_from(
    [
        CONFIRM,
        "What is your email?",
        "It is done.",
        "Let me check.",
        "Anything else I can do?",
        "Please provide all the details.",
        "May I transfer you to a human agent?",
        "\n- zip",
        "",
    ]
)
MESSAGES = st.one_of(
    st.text(st.characters(codec=None), max_size=200),
    st.lists(FRAGMENTS, max_size=4).map(" ".join),
)


def test_the_opening_comes_first() -> None:
    user = ScriptedUser(SCRIPT)
    assert user.told == ()
    assert user.open() == SCRIPT.opening
    assert user.told == (SCRIPT.opening,)


def test_facts_are_told_when_asked_and_as_often_as_asked() -> None:
    user = ScriptedUser(SCRIPT)
    for _ in range(2):
        assert user.reply("What is your email?") == SCRIPT.facts["email"]
    both = user.reply("May I have your zip code and your email?")
    assert both == f"{SCRIPT.facts['email']} {SCRIPT.facts['zip']}"


def test_all_details_are_those_not_told_yet() -> None:
    user = ScriptedUser(SCRIPT)
    user.reply("What is your email?")
    reply = user.reply("Could you share all the details I need?")
    assert SCRIPT.facts["email"] not in reply
    assert all(SCRIPT.facts[topic] in reply for topic in ("zip", "options", "payment"))


def test_a_question_about_a_word_of_a_fact_gets_that_fact() -> None:
    assert ScriptedUser(SCRIPT).reply("Which fuel shall it burn?") == SCRIPT.facts["options"]


def test_changes_of_mind_come_before_agreement_one_at_a_time() -> None:
    user = ScriptedUser(SCRIPT)
    assert [user.reply(CONFIRM) for _ in range(4)] == [
        *SCRIPT.changes,
        "Yes, please go ahead.",
        "Yes, please go ahead.",
    ]


def test_changes_of_mind_come_before_the_end() -> None:
    user = ScriptedUser(SCRIPT)
    assert user.reply("Your order has been cancelled.") == SCRIPT.changes[0]
    assert user.reply("Is there anything else I can help with?") == SCRIPT.changes[1]
    assert user.reply("That is done, too.").endswith(STOP)


def test_facts_and_agreement_in_one_answer() -> None:
    user = ScriptedUser(UserScript("Hello", SCRIPT.facts))
    reply = user.reply("What is your zip code? And shall I proceed?")
    assert reply == f"{SCRIPT.facts['zip']} Yes, please go ahead."


def test_an_unknown_question_gets_the_request_as_it_stands() -> None:
    user = ScriptedUser(SCRIPT)
    assert SCRIPT.opening in user.reply("How is the weather?")
    user.reply(CONFIRM)
    reply = user.reply("How is the weather?")
    assert SCRIPT.opening in reply
    assert SCRIPT.changes[0] in reply
    assert SCRIPT.changes[1] not in reply


def test_work_in_progress_does_not_end_the_conversation() -> None:
    assert STOP not in ScriptedUser(SCRIPT).reply("Let me look that up.")


def test_an_announced_transfer_ends_and_an_offered_one_does_not() -> None:
    user = ScriptedUser(SCRIPT)
    assert STOP not in user.reply("Would you like me to transfer you to a human agent?")
    assert user.reply("You are being transferred to a human agent.").endswith(STOP)
    assert user.reply("What is your email?").endswith(STOP)


@given(st.lists(MESSAGES, max_size=6))
def test_any_text_gets_an_answer_and_the_same_one_every_time(messages: list[str]) -> None:
    first, second = ScriptedUser(SCRIPT), ScriptedUser(SCRIPT)
    replies = [first.reply(message) for message in messages]
    assert replies == [second.reply(message) for message in messages]
    assert all(replies)
    assert first.told == tuple(replies)


@given(st.lists(MESSAGES, max_size=8))
def test_changes_are_told_in_order_and_the_end_is_final(messages: list[str]) -> None:
    user = ScriptedUser(SCRIPT)
    replies = [user.reply(message) for message in messages]
    first_told = [
        min((i for i, reply in enumerate(replies) if change in reply), default=len(replies))
        for change in SCRIPT.changes
    ]
    assert first_told == sorted(first_told)
    ended = [reply.endswith(STOP) for reply in replies]
    assert ended == sorted(ended)


def test_very_long_and_strange_texts() -> None:
    for text in ("?" * 10**6, "\ud800" * 10**5, ":\n- " * 10**5, "confirm " * 10**5, "\x00"):
        assert ScriptedUser(SCRIPT).reply(text)
