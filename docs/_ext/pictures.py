"""Pictures drawn by the build, once for a light page and once for a dark one.

::

    ```{picture} basins
    :alt: what the picture shows
    A caption.
    ```

runs ``draw("light")`` and ``draw("dark")`` of ``docs/pictures/basins.py``, which return matplotlib
figures. A picture is drawn anew when its program or the library has changed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import warnings
from pathlib import Path
from typing import Any, ClassVar

import matplotlib as mpl
from docutils import nodes
from docutils.parsers.rst import directives
from sklearn.exceptions import ConvergenceWarning
from sphinx.util.docutils import SphinxDirective

import amclust

FOLDER = Path(__file__).parents[1] / "pictures"
INK = {"light": "#1f2733", "dark": "#dce3ec"}
# Transparent, but displays choose their colours by it.
PAPER = {"light": "#ffffff00", "dark": "#14181e00"}
STYLE = {
    "savefig.facecolor": "none",
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.hashsalt": "amclust",
}
_INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")


class Picture(SphinxDirective):
    """A figure with the two pictures, of which the page shows the one that suits it."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "alt": directives.unchanged_required,
        "class": directives.class_option,
    }

    def run(self) -> list[nodes.Node]:
        """Draw where needed, and make the figure."""
        program = FOLDER / f"{self.arguments[0]}.py"
        for source in (program, *library()):
            self.env.note_dependency(str(source))
        figure = nodes.figure(classes=["picture", *self.options.get("class", [])])
        both = nodes.container()  # the theme hides the caption beside a hidden picture
        for background in INK:
            path = draw(program, background, Path(self.env.srcdir))
            both += nodes.image(
                uri=f"/{path.relative_to(self.env.srcdir)}",
                alt=self.options["alt"],
                classes=[f"only-{background}"],
            )
        figure += both
        if self.content:
            caption = nodes.caption()
            children, messages = self.parse_inline("\n".join(self.content))
            caption += [*children, *messages]
            figure += caption
        return [figure]


def draw(program: Path, background: str, source: Path) -> Path:
    """Give the file of a picture, drawn if it is not there yet."""
    sources = (program, Path(__file__), *library())
    content = b"".join(source.read_bytes() for source in sources)
    digest = hashlib.sha256(content).hexdigest()[:12]
    path = source / "generated" / "pictures" / f"{program.stem}-{background}-{digest}.svg"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in path.parent.glob(f"{program.stem}-{background}-*.svg"):
            old.unlink()
        style = {
            **STYLE,
            **dict.fromkeys(_INKED, INK[background]),
            **dict.fromkeys(("figure.facecolor", "axes.facecolor"), PAPER[background]),
        }
        with mpl.rc_context(style), warnings.catch_warnings():
            # Some pictures show the very thing that it warns of.
            warnings.simplefilter("ignore", ConvergenceWarning)
            _module(program).draw(background).savefig(
                path, bbox_inches="tight", dpi=200, metadata={"Date": None}
            )
    return path


def library() -> list[Path]:
    """Give what pictures are drawn with: they change when it does."""
    package = Path(amclust.__file__).parent
    own = Path(__file__).with_name("drawing.py")
    return [own, *sorted(package.glob("*.py")), *sorted(package.glob("plotting/*.py"))]


def _module(program: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"picture_{program.stem}", program)
    if spec is None or spec.loader is None:
        msg = f"{program} is not a Python program"
        raise ImportError(msg)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx of the directive."""
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
