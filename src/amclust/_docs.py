"""Docstrings that share entries: these are written once, and read in full wherever they are used.

A line of a docstring that is nothing but ``{name}`` stands for the entry of that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from textwrap import dedent, indent
from types import FunctionType
from typing import TypeVar

Class = TypeVar("Class", bound=type)

# A line with a name in braces, and the end of it where another entry follows.
PLACEHOLDER = re.compile(r"^( *)\{(\w+)\}$(\n(?= *\S))?", flags=re.MULTILINE)


def entries(text: str) -> dict[str, str]:
    """Return the entries of a numpydoc section, each by the first name in it."""
    found = re.split(r"\n\n(?=\S)", dedent(text).strip())
    return {re.findall(r"\w+", entry)[0]: entry for entry in found}


def documented(shared: Mapping[str, str]) -> Callable[[Class], Class]:
    """Return a decorator that fills in the docstrings of a class and of the methods it defines.

    Parameters
    ----------
    shared : mapping of str to str
        What a line ``{name}`` stands for; ``{class}`` in it is the name of the class. Entries that
        follow each other are set apart by an empty line.

    Returns
    -------
    decorator : callable
        Takes a class and returns it. A name that is not in `shared` is a KeyError.

    Examples
    --------
    >>> import inspect
    >>> from amclust._docs import ROWS, documented
    >>> @documented(ROWS)
    ... class Rows:
    ...     '''Rows, and threads to read them.
    ...
    ...     {X}
    ...     {n_jobs}
    ...     '''
    >>> print(inspect.getdoc(Rows))
    Rows, and threads to read them.
    <BLANKLINE>
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; NaN where a value is missing.
    <BLANKLINE>
    n_jobs : int, default=None
        Number of threads; None: as many as may be.
    """

    def fill(cls: Class) -> Class:
        def entry(found: re.Match[str]) -> str:
            margin, name, more = found.groups()
            text = shared[name].replace("{class}", cls.__name__)
            return indent(text, margin) + ("\n\n" if more else "")

        methods = [getattr(member, "__func__", member) for member in vars(cls).values()]
        for owner in (cls, *(method for method in methods if isinstance(method, FunctionType))):
            if owner.__doc__:  # python -OO has none
                owner.__doc__ = PLACEHOLDER.sub(entry, owner.__doc__)
        return cls

    return fill


# What methods of estimators and networks have in common.
ROWS = {
    "X_filled": """\
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Rows; missing values are filled by the network first.""",
    **entries("""
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; NaN where a value is missing.

        y : Ignored
            Not used, present for API consistency.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row's loss.

        n_jobs : int, default=None
            Number of threads; None: as many as may be.
    """),
}
