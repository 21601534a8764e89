"""The report: one self-contained page about a clustering."""

from amclust.report._write import write_report

__all__ = ["write_report"]
