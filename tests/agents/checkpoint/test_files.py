"""What is no usable checkpoint says so before anything is loaded, and says the way out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bench2robust.agents.checkpoint import find_checkpoint, fingerprint
from bench2robust.core.errors import DataError, UsageError


@pytest.fixture
def model(random_model: Path, tmp_path: Path) -> Path:
    """A copy of the random model, to be damaged."""
    return Path(shutil.copytree(random_model, tmp_path / "model"))


def adapter(folder: Path, base: Path | str, kind: str = "LORA") -> Path:
    folder.mkdir()
    config = {"peft_type": kind, "base_model_name_or_path": str(base)}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    (folder / "adapter_model.safetensors").write_bytes(b"")
    return folder


def test_a_full_model(model: Path) -> None:
    found = find_checkpoint(str(model))
    assert (found.model, found.adapter, found.tokenizer) == (model, None, model)
    assert found.window == 16_384 and found.template is None


def test_an_adapter_takes_what_it_lacks_from_its_base(model: Path, tmp_path: Path) -> None:
    found = find_checkpoint(str(adapter(tmp_path / "adapter", model)))
    assert (found.model, found.adapter, found.tokenizer) == (model, tmp_path / "adapter", model)
    moved = adapter(tmp_path / "moved", "/not/here")
    assert find_checkpoint(str(moved), base=str(model)).model == model


def test_what_is_missing_is_named(model: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere is not there"):
        find_checkpoint(str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="is a file: name the folder"):
        find_checkpoint(str(model / "config.json"))
    with pytest.raises(DataError, match=r"neither config.json nor adapter_config.json"):
        find_checkpoint(str(tmp_path))
    with pytest.raises(DataError, match=r"'/not/here' is no folder here: .*checkpoint.base"):
        find_checkpoint(str(adapter(tmp_path / "adapter", "/not/here")))
    (model / "tokenizer.json").unlink()
    with pytest.raises(DataError, match="has no tokenizer"):
        find_checkpoint(str(model))


def test_pickles_are_never_read(model: Path, tmp_path: Path) -> None:
    (model / "model.safetensors").unlink()
    with pytest.raises(DataError, match=r"model.safetensors is missing"):
        find_checkpoint(str(model))
    (model / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(DataError, match=r"pickle \(pytorch_model.bin\), which is never read"):
        find_checkpoint(str(model))
    pickled = adapter(tmp_path / "adapter", model)
    (pickled / "adapter_model.safetensors").rename(pickled / "adapter_model.bin")
    with pytest.raises(DataError, match=r"pickle \(adapter_model.bin\)"):
        find_checkpoint(str(pickled))


def test_a_missing_chat_template_says_how_to_give_one(model: Path, tmp_path: Path) -> None:
    (model / "chat_template.jinja").unlink()
    with pytest.raises(DataError, match=r"no chat template.*--chat-template FILE"):
        find_checkpoint(str(model))
    given = tmp_path / "mine.jinja"
    given.write_text("{{ messages }}")
    assert find_checkpoint(str(model), chat_template=str(given)).template == "{{ messages }}"
    with pytest.raises(DataError, match="cannot be read"):
        find_checkpoint(str(model), chat_template=str(tmp_path / "none.jinja"))


def test_damaged_files_are_named(model: Path, tmp_path: Path) -> None:
    (model / "config.json").write_text("{")
    with pytest.raises(DataError, match=r"config.json is not JSON"):
        find_checkpoint(str(model))
    (model / "config.json").write_text("[]")
    with pytest.raises(DataError, match="must hold a JSON object"):
        find_checkpoint(str(model))


def test_adapters_that_write_into_the_prompt_are_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="PREFIX_TUNING, which is not supported"):
        find_checkpoint(str(adapter(tmp_path / "adapter", model, "PREFIX_TUNING")))


def test_the_window_of_a_model_with_parts(model: Path) -> None:
    config = json.loads((model / "config.json").read_text())
    config["text_config"] = {"max_position_embeddings": config.pop("max_position_embeddings")}
    (model / "config.json").write_text(json.dumps(config))
    assert find_checkpoint(str(model)).window == 16_384
    (model / "config.json").write_text("{}")
    assert find_checkpoint(str(model)).window is None


def test_a_fingerprint_follows_content_and_not_place(model: Path, tmp_path: Path) -> None:
    def of(folder: Path, **more: Any) -> str:
        return fingerprint(find_checkpoint(str(folder), **more))

    before = of(model)
    copied = Path(shutil.copytree(model, tmp_path / "copy"))
    assert of(copied) == before and len(before) == 16
    given = tmp_path / "mine.jinja"
    given.write_text("{{ messages }}")
    assert of(model, chat_template=str(given)) != before
    (copied / "merges.txt").write_text("a b")
    assert of(copied) != before
    (copied / "merges.txt").unlink()
    weights = copied / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8] + b"trained!")
    assert of(copied) != before
