"""The report: one self-contained page about a clustering. Its HTML is in templates/."""

from amclust.report._write import check_packages, write_report

__all__ = ["check_packages", "write_report"]
