"""A graph of ONNX that is written as formulas: values have operators, and loops are functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import DTypeLike
from onnx import TensorProto, helper, numpy_helper

# What the operators need: axes are inputs of all reductions from 18 on.
OPSET = 18
# Older runtimes read it, too.
IR_VERSION = 9

TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.float64): TensorProto.DOUBLE,
    np.dtype(np.int64): TensorProto.INT64,
    np.dtype(np.bool_): TensorProto.BOOL,
}


class Graph:
    """Nodes and constants, as they are made."""

    def __init__(self, name: Callable[[str], str] | None = None) -> None:
        self.constants: list[TensorProto] = []
        self._nodes: list[list[Any]] = [[]]
        self._known: dict[tuple[Any, ...], Value] = {}
        self._count = 0
        self._name = name or self._numbered

    @property
    def nodes(self) -> list[Any]:
        """The nodes of the graph itself."""
        return self._nodes[0]

    def _numbered(self, kind: str) -> str:
        self._count += 1
        return f"{kind.lower()}_{self._count}"

    def constant(self, values: Any, dtype: DTypeLike) -> Value:
        """Return an array as a value; the same one is kept once."""
        array = np.asarray(values, dtype=dtype)  # of no dimension, too
        key = (array.tobytes(), array.shape, array.dtype)
        if key not in self._known:
            name = self._name("constant")
            self.constants.append(numpy_helper.from_array(array, name))
            self._known[key] = Value(self, name, array.dtype)
        return self._known[key]

    def given(self, name: str, dtype: DTypeLike) -> Value:
        """Return a value that is there already, an input for example."""
        return Value(self, name, np.dtype(dtype))

    def node(
        self, kind: str, *inputs: Value, dtype: DTypeLike | None = None, **attributes: Any
    ) -> Value:
        """Add a node; its value has the type of the first input, if no other is given."""
        types = [inputs[0].dtype if dtype is None else dtype]
        return self.nodes_of(kind, inputs, types, **attributes)[0]

    def nodes_of(
        self,
        kind: str,
        inputs: Sequence[Value],
        types: Sequence[DTypeLike],
        **attributes: Any,
    ) -> list[Value]:
        """Add a node that has several values."""
        names = [self._name(kind) for _ in types]
        made = helper.make_node(
            kind, [value.name for value in inputs], names, name=names[0], **attributes
        )
        self._nodes[-1].append(made)
        return [Value(self, name, np.dtype(one)) for name, one in zip(names, types, strict=True)]

    def rename(self, value: Value, name: str) -> None:
        """Give a value a name of its own."""
        self.nodes.append(helper.make_node("Identity", [value.name], [name], name=name))

    def where(self, condition: Value, yes: Any, no: Any) -> Value:
        """Return one or the other, value by value."""
        kind = (yes if isinstance(yes, Value) else no).dtype
        chosen = (self._as_value(yes, kind), self._as_value(no, kind))
        return self.node("Where", condition, *chosen, dtype=kind)

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        """Return values one after the other."""
        return values[0] if len(values) == 1 else self.node("Concat", *values, axis=axis)

    def loop(
        self,
        count: int | Value,
        states: Sequence[Value],
        step: Callable[..., Sequence[Value]],
    ) -> list[Value]:
        """Return what states are after so many steps; each is given its number and the states."""
        number, going = self._name("number"), self._name("going")
        inside = [self.given(self._name("state"), state.dtype) for state in states]
        self._nodes.append([])
        after = step(self.given(number, np.int64), *inside)
        going_on = self.node("Identity", self.given(going, np.bool_))
        # A state of the body that is one of the graph outside needs a node of its own.
        after = [self.node("Identity", state) for state in after]
        body = helper.make_graph(
            self._nodes.pop(),
            self._name("body"),
            [
                helper.make_tensor_value_info(number, TensorProto.INT64, []),
                helper.make_tensor_value_info(going, TensorProto.BOOL, []),
                *(value.info() for value in inside),
            ],
            [
                helper.make_tensor_value_info(going_on.name, TensorProto.BOOL, []),
                *(value.info() for value in after),
            ],
        )
        names = [self._name("loop") for _ in states]
        always, steps = self.constant(True, np.bool_), self._as_value(count, np.int64)
        self._nodes[-1].append(
            helper.make_node(
                "Loop",
                [steps.name, always.name, *(state.name for state in states)],
                names,
                name=self._name("Loop"),
                body=body,
            )
        )
        return [self.given(name, state.dtype) for name, state in zip(names, states, strict=True)]

    def _as_value(self, other: Any, dtype: DTypeLike) -> Value:
        return other if isinstance(other, Value) else self.constant(other, dtype)


class Value:
    """What a node has computed."""

    # NumPy leaves operators to the value.
    __array_ufunc__ = None

    def __init__(self, graph: Graph, name: str, dtype: np.dtype[Any]) -> None:
        self.graph, self.name, self.dtype = graph, name, dtype

    def info(self, shape: Sequence[int | str] | None = None) -> Any:
        """Return the description of an input or output."""
        return helper.make_tensor_value_info(self.name, TYPES[self.dtype], shape)

    def _with(self, kind: str, other: Any, dtype: DTypeLike | None = None) -> Value:
        second = self.graph._as_value(other, self.dtype)
        return self.graph.node(kind, self, second, dtype=dtype)

    def __add__(self, other: Any) -> Value:
        return self._with("Add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Value:
        return self._with("Sub", other)

    def __rsub__(self, other: Any) -> Value:
        return self.graph.constant(other, self.dtype) - self

    def __mul__(self, other: Any) -> Value:
        return self._with("Mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Value:
        return self._with("Div", other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.graph.constant(other, self.dtype) / self

    def __matmul__(self, other: Any) -> Value:
        return self._with("MatMul", other)

    def __gt__(self, other: Any) -> Value:
        return self._with("Greater", other, np.bool_)

    def __ge__(self, other: Any) -> Value:
        return self._with("GreaterOrEqual", other, np.bool_)

    def __le__(self, other: Any) -> Value:
        return self._with("LessOrEqual", other, np.bool_)

    def __and__(self, other: Value) -> Value:
        return self._with("And", other, np.bool_)

    def __or__(self, other: Value) -> Value:
        return self._with("Or", other, np.bool_)

    def __invert__(self) -> Value:
        return self.graph.node("Not", self)

    def cast(self, dtype: DTypeLike) -> Value:
        """Return the value in another type."""
        kind = np.dtype(dtype)
        if kind == self.dtype:
            return self
        return self.graph.node("Cast", self, dtype=kind, to=TYPES[kind])

    def is_nan(self) -> Value:
        """Return where nothing is."""
        return self.graph.node("IsNaN", self, dtype=np.bool_)

    def apply(self, kind: str, **attributes: Any) -> Value:
        """Return a function of every number: "Log", "Sqrt", "Cos", ..."""
        return self.graph.node(kind, self, **attributes)

    def least(self, other: Any) -> Value:
        """Return the smaller of two."""
        return self._with("Min", other)

    def most(self, other: Any) -> Value:
        """Return the larger of two."""
        return self._with("Max", other)

    def reduce(self, kind: str, axis: int, *, keep: bool = False) -> Value:
        """Return a sum, maximum, ... over an axis."""
        axes = self.graph.constant([axis], np.int64)
        return self.graph.node(f"Reduce{kind}", self, axes, keepdims=int(keep))

    def sum(self, axis: int, *, keep: bool = False) -> Value:
        """Return the sum over an axis."""
        return self.reduce("Sum", axis, keep=keep)

    def any(self, axis: int, *, keep: bool = False) -> Value:
        """Return whether any is true."""
        return self.cast(np.int64).reduce("Max", axis, keep=keep) > 0

    def expand(self, axis: int) -> Value:
        """Return the value with one more dimension."""
        return self.graph.node("Unsqueeze", self, self.graph.constant([axis], np.int64))

    def squeeze(self, axis: int) -> Value:
        """Return the value with one dimension less."""
        return self.graph.node("Squeeze", self, self.graph.constant([axis], np.int64))

    def reshape(self, shape: Sequence[int]) -> Value:
        """Return the value in another shape."""
        return self.graph.node("Reshape", self, self.graph.constant(shape, np.int64))

    def transpose(self, order: Sequence[int]) -> Value:
        """Return the value with its dimensions in another order."""
        return self.graph.node("Transpose", self, perm=list(order))

    def take(self, which: Value, axis: int = 0) -> Value:
        """Return some of the entries of an axis; a single number takes the axis away."""
        return self.graph.node("Gather", self, which, axis=axis)

    def first(self, count: Value, axis: int) -> Value:
        """Return the first entries of an axis."""
        g = self.graph
        places = [g.constant([at], np.int64) for at in (0, axis)]
        return g.node("Slice", self, places[0], count, places[1])

    def last(self, start: Value, axis: int) -> Value:
        """Return the entries of an axis from a number on."""
        g = self.graph
        places = [g.constant([at], np.int64) for at in (np.iinfo(np.int64).max, axis)]
        return g.node("Slice", self, start, *places)

    def softmax(self) -> Value:
        """Return shares of the last axis."""
        return self.graph.node("Softmax", self, axis=-1)

    def argmax(self) -> Value:
        """Return the first of the largest entries of every row."""
        found = self.graph.node("ArgMax", self, dtype=np.int64, axis=1, keepdims=0)
        return found.reshape([-1])  # of no rows, onnxruntime keeps both dimensions


def finished(
    graph: Graph, inputs: Sequence[Any], outputs: Sequence[Any], **properties: str
) -> onnx.ModelProto:
    """Return the model of a graph, checked."""
    made = helper.make_graph(
        graph.nodes, "amclust", list(inputs), list(outputs), initializer=graph.constants
    )
    model = helper.make_model(
        made,
        producer_name="amclust",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    helper.set_model_props(model, properties)
    onnx.checker.check_model(model)
    return model
