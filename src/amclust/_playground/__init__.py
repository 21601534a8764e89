"""Memories to play with in a browser: one page that needs neither a network nor a server."""

from __future__ import annotations

import os
import webbrowser
from importlib.resources import as_file, files
from pathlib import Path

from amclust.io.files import atomic_write


def open_playground(output: str | os.PathLike[str] | None = None, show: bool = True) -> Path:
    """Open the playground: drag memories in the plane and watch their basins of attraction.

    Parameters
    ----------
    output : str or path-like, default=None
        Where to write a copy of the page, to keep or to share; replaced if it exists. None uses
        the page in the installed package.

    show : bool, default=True
        Whether to open the page in the web browser.

    Returns
    -------
    path : Path
        The page's absolute path, also for opening it where no browser could be started.

    Examples
    --------
    >>> from amclust._playground import open_playground
    >>> open_playground(show=False).name
    'playground.html'
    """
    # The compiled core keeps the package from being imported out of an archive, so the page lies
    # on the disk and outlives the block.
    with as_file(files(__package__) / "playground.html") as page:
        path = page.resolve()
    if output is not None:
        with atomic_write(output, overwrite=True) as file:
            file.write(path.read_bytes())
        path = Path(output).resolve()
    if show:
        webbrowser.open(path.as_uri())
    return path
