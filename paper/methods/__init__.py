"""The methods of the paper's tables: one file each."""

from __future__ import annotations

from paper.methods.agglomerative import AGGLOMERATIVE
from paper.methods.base import Method
from paper.methods.clam import CLAM, CLAM_DEFAULT, CLAM_UNMASKED, CLAM_WEIGHTED
from paper.methods.dcec import DCEC
from paper.methods.dec import DEC, DEC_RANDOM
from paper.methods.kmeans import KMEANS
from paper.methods.spectral import SPECTRAL

# In the order of the paper's columns.
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        KMEANS,
        SPECTRAL,
        AGGLOMERATIVE,
        DCEC,
        DEC,
        DEC_RANDOM,
        CLAM,
        CLAM_UNMASKED,
        CLAM_WEIGHTED,
        CLAM_DEFAULT,
    )
}

# Which methods a protocol is for: the ablations are ClAM's, and its default has no protocol.
_TABLE_METHODS = tuple(name for name in METHODS if name != CLAM_DEFAULT.name)
PROTOCOL_METHODS = {
    "paper": _TABLE_METHODS,
    "honest": _TABLE_METHODS,
    "default": (CLAM_DEFAULT.name,),
}
