"""The compact view in token ids, and the tokenizer that goes with a trained model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bench2robust.agents.base import Action, Observation, Unreadable
from bench2robust.core.domain import Domain
from bench2robust.envs.episode import Episode
from bench2robust.training.compact.view import CompactView, products_of
from bench2robust.training.compact.words import BOS, END, PAD, vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

__all__ = ["CompactEpisode", "Lexicon"]


class Lexicon:
    """The words of a store and their token ids."""

    def __init__(self, domain: Domain) -> None:
        self.products = products_of(domain)
        self.words = vocabulary(self.products)
        self._ids = {word: index for index, word in enumerate(self.words)}

    def encode(self, words: Sequence[str]) -> list[int]:
        """Return the token id of each word."""
        return [self._ids[word] for word in words]

    def decode(self, tokens: Sequence[int]) -> list[str]:
        """Return the word of each token id."""
        return [self.words[token] for token in tokens]

    def view(self, episode: Episode) -> CompactEpisode:
        """Return how a running episode looks in tokens."""
        return CompactEpisode(self, episode)

    def tokenizer(self) -> PreTrainedTokenizerFast:
        """Return a tokenizer that splits at spaces and knows these words."""
        import transformers
        from tokenizers import Tokenizer
        from tokenizers.models import WordLevel
        from tokenizers.pre_tokenizers import WhitespaceSplit

        untyped: Any = transformers.PreTrainedTokenizerFast
        model = Tokenizer(WordLevel(self._ids, unk_token=PAD))
        model.pre_tokenizer = WhitespaceSplit()
        made: PreTrainedTokenizerFast = untyped(
            tokenizer_object=model, pad_token=PAD, bos_token=BOS, eos_token=END, unk_token=PAD
        )
        return made


class CompactEpisode:
    """One episode in token ids (:class:`~bench2robust.training.rollout.EpisodeView`)."""

    def __init__(self, lexicon: Lexicon, episode: Episode) -> None:
        self._lexicon = lexicon
        self._opening = episode.opening
        self.words = CompactView(lexicon.products, episode.seed, episode.task.id)
        self._end = lexicon.encode([END])[0]

    def prompt(self) -> list[int]:
        """Return the tokens of the user's first message."""
        return self._lexicon.encode([BOS, *self.words.opening(self._opening)])

    def ends(self, token: int) -> bool:
        """Say whether a token is ``;``."""
        return token == self._end

    def actions(self, turn: Sequence[int]) -> tuple[Action | Unreadable, ...]:
        """Return the one thing that a turn asks for."""
        return (self.words.action(self._lexicon.decode(turn)),)

    def observation(self, done: Sequence[tuple[Action | Unreadable, Observation]]) -> list[int]:
        """Return the tokens of what came back."""
        return [t for step in done for t in self._lexicon.encode(self.words.observation(*step))]
