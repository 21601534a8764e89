"""The methods of the paper's tables, in the order of its columns."""

from paper.methods.base import Method
from paper.methods.clam import CLAM, CLAM_UNMASKED, CLAM_WEIGHTED, DefaultClAM
from paper.methods.classical import AgglomerativeMethod, KMeansMethod, SpectralMethod
from paper.methods.deep import DEC, DEC_RANDOM, DCECMethod

_CLASSICAL = (KMeansMethod(), SpectralMethod(), AgglomerativeMethod())
_IN_TABLES = (*_CLASSICAL, DCECMethod(), DEC, DEC_RANDOM, CLAM, CLAM_UNMASKED, CLAM_WEIGHTED)
METHODS: dict[str, Method] = {method.name: method for method in (*_IN_TABLES, DefaultClAM())}

# ClAM's default has no search, and so no protocol.
*TABLE_METHODS, _DEFAULT = METHODS
PROTOCOL_METHODS = {"paper": TABLE_METHODS, "honest": TABLE_METHODS, "default": [_DEFAULT]}
