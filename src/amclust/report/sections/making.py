"""The last section: parameters, versions, and how to make the model again."""

from __future__ import annotations

import platform
from html import escape
from importlib import metadata

import numpy as np

from amclust._version import __version__
from amclust.report._html import definitions, paragraphs, shorten, table
from amclust.report._numbers import number
from amclust.report._subject import Subject

PACKAGES = ("numpy", "scipy", "scikit-learn", "plotly")


def making_section(subject: Subject) -> str:
    """Tell how to make the model again."""
    model = subject.model
    parameters = [(key, written(value)) for key, value in sorted(model.get_params().items())]
    seeded = (
        "Made again with the same rows, versions and parameters, the model is the same."
        if isinstance(model.random_state, int | np.integer)
        else "No whole number was given as <code>random_state</code>: made again, the model may "
        "differ. Give one to get the same model every time."
    )
    others = (
        ""
        if subject.is_training_data
        else "The rows of this report are not those of the model’s last fit: <code>X</code> stands "
        "for the rows it was trained on."
    )
    code = shorten_lines(f"from amclust import ClAM\n\nmodel = {model!r}\nmodel.fit(X)")
    versions = [("amclust", __version__), ("Python", platform.python_version())]
    versions += [(package, metadata.version(package)) for package in PACKAGES]
    return (
        paragraphs(seeded, others)
        + f'<pre tabindex="0" aria-label="Python code"><code>{escape(code)}</code></pre>'
        + definitions(
            [
                ("Inverse temperature β", number(float(model.beta_), 4)),
                ("Objective", escape(model.optimizer_state_.objective)),
                ("Versions", ", ".join(f"{a}&nbsp;{escape(b)}" for a, b in versions)),
            ]
        )
        + "<details><summary>All parameters</summary>"
        + table(
            "All parameters",
            ("Parameter", "Value"),
            [(f"<code>{key}</code>", escape(value)) for key, value in parameters],
        )
        + "</details>"
    )


def written(value: object) -> str:
    """Write the value of a parameter; arrays by their shape."""
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    return shorten(repr(value), 100)


def shorten_lines(code: str, most: int = 40) -> str:
    """Cut code that is very long: parameters may be large arrays."""
    lines = code.splitlines()
    return "\n".join(line[:200] for line in lines[:most])
