"""The methods of the paper's tables, in the order of its columns."""

from __future__ import annotations

from paper.methods.base import Method
from paper.methods.clam import CLAM, CLAM_DEFAULT, CLAM_UNMASKED, CLAM_WEIGHTED
from paper.methods.classical import AgglomerativeMethod, KMeansMethod, SpectralMethod
from paper.methods.deep import DEC, DEC_RANDOM, DCECMethod

_IN_TABLES: tuple[Method, ...] = (
    KMeansMethod(),
    SpectralMethod(),
    AgglomerativeMethod(),
    DCECMethod(),
    DEC,
    DEC_RANDOM,
    CLAM,
    CLAM_UNMASKED,
    CLAM_WEIGHTED,
)
METHODS = {method.name: method for method in (*_IN_TABLES, CLAM_DEFAULT)}

# ClAM's default has no search, and so no protocol.
TABLE_METHODS = tuple(method.name for method in _IN_TABLES)
PROTOCOL_METHODS = {
    "paper": TABLE_METHODS,
    "honest": TABLE_METHODS,
    "default": (CLAM_DEFAULT.name,),
}
