"""The version, kept in pyproject.toml alone."""

from importlib.metadata import version

__version__ = version("amclust")
