"""A converter for skl2onnx, so that a pipeline with a `ClAM` at its end becomes one model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from amclust.onnx._export import add_network
from amclust.onnx._graph import OPSET, Graph

if TYPE_CHECKING:
    from amclust._network import Network


def register_converter() -> None:
    """Make `ClAM` and `ClAMSearch` known to skl2onnx, which is not installed with amclust.

    A converted pipeline answers with "label" and "memberships". Rows are float32 or float64,
    as the model's first input is declared; NaN is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import RobustScaler
    >>> from skl2onnx import to_onnx
    >>> from amclust import ClAM
    >>> from amclust.onnx import register_converter
    >>> X = np.array([[0.0, 0.0], [0.1, 0.1], [5.0, 5.0], [5.1, 4.9]])
    >>> model = make_pipeline(RobustScaler(), ClAM(2, random_state=0)).fit(X)
    >>> register_converter()
    >>> [output.name for output in to_onnx(model, X[:1]).graph.output]
    ['label', 'memberships']
    """
    from skl2onnx import update_registered_converter

    from amclust import ClAM, ClAMSearch

    for estimator in (ClAM, ClAMSearch):
        name = f"Amclust{estimator.__name__}"
        update_registered_converter(estimator, name, _set_shapes, _convert, parser=_parse)


def _network(operator: Any) -> Network:
    model = operator.raw_operator
    found: Network = getattr(model, "best_estimator_", model).network_
    return found


def _parse(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    """Declare what the model answers with."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType

    operator = scope.declare_local_operator(f"Amclust{type(model).__name__}", model)
    operator.inputs = inputs
    double = isinstance(inputs[0].type, DoubleTensorType)
    shares = DoubleTensorType() if double else FloatTensorType()
    kinds = {"label": Int64TensorType(), "memberships": shares}
    for name, kind in kinds.items():
        operator.outputs.append(scope.declare_local_variable(name, kind))
    found: list[Any] = operator.outputs
    return found


def _set_shapes(operator: Any) -> None:
    rows = operator.inputs[0].get_first_dimension()
    operator.outputs[0].type.shape = [rows]
    operator.outputs[1].type.shape = [rows, _network(operator).n_clusters]


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from skl2onnx.common.data_types import guess_numpy_type

    if container.target_opset_any_domain("") < OPSET:
        msg = (
            f"target_opset must be at least {OPSET} for a ClAM, got "
            f"{container.target_opset_any_domain('')}."
        )
        raise RuntimeError(msg)
    if _network(operator).geometry.categories is not None:
        msg = "A table with categories is not one tensor: use model.network_.to_onnx(path)."
        raise ValueError(msg)
    graph = Graph(scope.get_unique_variable_name)
    (given,) = operator.inputs
    kind = guess_numpy_type(given.type)
    rows = graph.given(given.full_name, kind if kind in (np.float32, np.float64) else np.int64)
    if rows.dtype == np.int64:  # whole numbers, as a table has them
        rows = rows.cast(np.float32)
    answers = add_network(graph, _network(operator), rows)
    for output, value in zip(operator.outputs, answers, strict=True):
        graph.rename(value, output.full_name)
    container.initializers.extend(graph.constants)
    for node in graph.nodes:
        container.nodes.append(node)
    container.node_domain_version_pair_sets.add(("", OPSET))
