"""The worked examples run, are short, and reach what they print."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("torch")

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name):
    path = EXAMPLES / name
    assert len(path.read_text().splitlines()) < 60
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_classifier(capsys):
    accuracy, explained = load("torch_classifier.py").main()
    assert accuracy > 0.9
    assert explained > 0.85
    assert "test accuracy" in capsys.readouterr().out


def test_autoencoder(capsys):
    before, after = load("torch_autoencoder.py").main()
    assert before > 0.6
    assert after > before - 0.02
    assert "NMI" in capsys.readouterr().out


def test_fine_tune(capsys, tmp_path):
    before, after, model = load("torch_fine_tune.py").main(steps=30)
    assert before > 0.5
    assert after > before
    assert "fine-tuned" in capsys.readouterr().out
    model.save(tmp_path / "tuned.amc")
