"""What a chat model is shown and what it wrote, put together, is what its template renders.

Compared as text: where two pieces meet, a tokenizer that sees both at once may cut otherwise.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers", reason="chat models need bench2robust[train]")

from bench2robust.agents.messages import assistant_calls, plain, tool_result
from bench2robust.core.errors import UsageError
from bench2robust.core.types import ToolCall
from bench2robust.domains import get_domain
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.memory import system_text
from bench2robust.training.chat_start import weighed
from bench2robust.training.chat_view import ChatLexicon
from bench2robust.training.rollout import Budgets, Rollout

TEMPLATE = (Path(__file__).parents[1] / "agents" / "chat" / "tools.jinja").read_text()
END = "<|im_end|>"


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.train_from_iterator(
        [get_domain("retail").policy],
        trainers.BpeTrainer(
            vocab_size=600,
            special_tokens=[END, "<|im_start|>"],
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    made = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token=END)
    made.chat_template = TEMPLATE
    return made


@pytest.fixture
def lexicon(tokenizer: Any) -> Any:
    return ChatLexicon(tokenizer, [tokenizer.eos_token_id], get_domain("retail"), "none")


@pytest.fixture
def running(lexicon: Any) -> Any:
    domain = get_domain("retail")
    episode = Episode(domain, domain.tasks("train")[0], 0, EpisodeSettings())
    return Rollout(episode, lexicon.view(episode), Budgets(400, 30_000))


def write(running: Any, tokenizer: Any, text: Any, end: Any = END) -> None:
    for token in tokenizer(text + end, add_special_tokens=False)["input_ids"]:
        running.accept(token)


def dialogue(running: Any, *more: Any) -> Any:
    domain = running.episode.domain
    tools = [spec.openai() for spec in domain.tools()]
    start = [
        plain("system", system_text(domain.policy, "")), plain("user", running.episode.opening),
    ]  # fmt: skip
    return [*start, *more], tools


def test_a_call_and_its_result(running: Any, tokenizer: Any, lexicon: Any) -> None:
    asked = assistant_calls([ToolCall("get_user_details", {"user_id": "x"})], 0)
    for token in lexicon.turn(*dialogue(running, asked)):
        running.accept(token)
    result = tool_result(0, "get_user_details", "Error: User not found")
    whole = lexicon.template.encode(*dialogue(running, asked, result))
    assert tokenizer.decode(running.tokens) == tokenizer.decode(whole)


def test_several_calls_in_one_message(running: Any, tokenizer: Any, lexicon: Any) -> None:
    calls = [
        ToolCall("get_user_details", {"user_id": "x"}),
        ToolCall("calculate", {"expression": "1 + 1"}),
    ]
    asked = assistant_calls(calls, 0)
    for token in lexicon.turn(*dialogue(running, asked)):
        running.accept(token)
    results = [
        tool_result(0, "get_user_details", "Error: User not found"),
        tool_result(1, "calculate", "2.0"),
    ]
    assert running.episode.steps == 2
    whole = lexicon.template.encode(*dialogue(running, asked, *results))
    assert tokenizer.decode(running.tokens) == tokenizer.decode(whole)


def test_a_message_and_the_users_answer(running: Any, tokenizer: Any, lexicon: Any) -> None:
    write(running, tokenizer, "Could you tell me your email?")
    reply = running.episode.turns[-1][1]
    messages = plain("assistant", "Could you tell me your email?"), plain("user", reply)
    whole = lexicon.template.encode(*dialogue(running, *messages))
    assert tokenizer.decode(running.tokens) == tokenizer.decode(whole)


def test_what_cannot_be_read_is_answered_by_the_harness(running: Any, tokenizer: Any) -> None:
    write(running, tokenizer, '{"name": "get_user_details"')
    assert running.episode.turns[-1][0] == "harness"
    assert not running.done


def test_a_message_that_was_cut_off_is_closed_before_the_answer(
    lexicon: Any, tokenizer: Any
) -> None:
    domain = get_domain("retail")
    episode = Episode(domain, domain.tasks("train")[0], 0, EpisodeSettings())
    running = Rollout(episode, lexicon.view(episode), Budgets(5, 30_000))
    for token in tokenizer('{"name": "get_user_details"', add_special_tokens=False)["input_ids"][
        :5
    ]:
        running.accept(token)
    shown = tokenizer.decode(running.tokens[running.prompt :])
    assert shown.count(END) == 2  # the policy's own message, and the answer to it
    assert shown.endswith("<|im_start|>assistant\n")


def test_only_the_policys_own_messages_count_in_supervised_training(
    running: Any, lexicon: Any, tokenizer: Any
) -> None:
    call = assistant_calls([ToolCall("get_user_details", {"user_id": "x"})], 0)
    messages, tools = dialogue(
        running, call, tool_result(0, "get_user_details", "found"), plain("assistant", "Done.")
    )
    example = weighed({"messages": messages, "tools": tools}, lexicon)
    counted = [t for t, w in zip(example.tokens, example.weights, strict=True) if w]
    assert tokenizer.decode(counted).count(END) == 2
    assert "found" not in tokenizer.decode(counted)
    assert tokenizer.decode(counted).endswith(f"Done.{END}")
    assert len(example.tokens) == len(example.weights)


def test_a_tokenizer_without_a_chat_template_is_refused(tokenizer: Any) -> None:
    import copy

    bare = copy.deepcopy(tokenizer)
    bare.chat_template = None
    with pytest.raises(UsageError, match="has no chat template"):
        ChatLexicon(bare, [0], get_domain("retail"), "none")


def test_a_template_that_does_not_show_tools_is_refused(tokenizer: Any) -> None:
    import copy

    other = copy.deepcopy(tokenizer)
    other.chat_template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}{% endfor %}"
    with pytest.raises(UsageError, match="does not show tools"):
        ChatLexicon(other, [0], get_domain("retail"), "none")
