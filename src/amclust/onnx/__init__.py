"""Networks as ONNX models. Needs ``pip install "amclust[onnx]"``."""

try:
    import onnx as _onnx  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "onnx":
        raise
    message = 'amclust.onnx needs onnx: pip install "amclust[onnx]"'
    raise ModuleNotFoundError(message, name="onnx") from error

from amclust.onnx._export import export, inputs
from amclust.onnx._sklearn import register_converter

__all__ = ["export", "inputs", "register_converter"]
