"""The graph of a BERT-family encoder in the operations of OpenVINO, from its weights.

Texts of a batch lie one after another, without padding, as rows (tokens, size). Only attention, which takes a small
part of the time, sees them as padded windows. Inputs of the graph, all whole numbers but `mask`:

    ids, places (tokens)            the token in each row, and its place in its window
    row (windows, length)           the row of each token of a window; any row for padding
    cell (tokens)                   where each row stands among the cells of the padded windows, counted row by row
    mask (windows, 1, 1, length)    0 for a token, and a very low number for padding
    buckets (length, length)        for MPNet alone: the relative distances of the tokens of a window
    types (tokens)                  for windows of two texts: 0 for tokens of the first, 1 for those of the second
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from whymatch.text.encoders.architecture import ACTIVATIONS, RELATIVE, Architecture
from whymatch.text.encoders.runtime import op, ov

Node = Any
"""An output of an operation."""


def build_graph(
    architecture: Architecture, weights: Mapping[str, np.ndarray], layer: int, *, typed: bool = False
) -> ov.Model:
    """The graph that gives the states of a layer, (tokens, size); layer 0 is the input of the first.

    `typed` says that it takes the types of tokens; otherwise all are of the first type.
    """
    return _Graph(architecture, weights, typed).up_to(layer)


class _Graph:
    def __init__(self, architecture: Architecture, weights: Mapping[str, np.ndarray], typed: bool) -> None:
        self.architecture, self.weights, self.typed = architecture, weights, typed
        shapes = {"ids": [-1], "places": [-1], "row": [-1, -1], "cell": [-1]}
        self.inputs = {name: op.parameter(shape, np.int32, name=name) for name, shape in shapes.items()}
        self.inputs["mask"] = op.parameter([-1, 1, 1, -1], np.float32, name="mask")

    def up_to(self, layer: int) -> ov.Model:
        states = self.embedded()
        mask = self.mask()
        for number in range(layer):
            states = self.transformed(states, mask, f"{self.architecture.names.layer}.{number}")
        return ov.Model([op.result(states)], [*self.inputs.values()], self.architecture.family)

    def embedded(self) -> Node:
        """The sum of what a token, its place and its type stand for, normalised."""
        words = self.rows_of("embeddings.word_embeddings", self.inputs["ids"])
        states = op.add(words, self.rows_of("embeddings.position_embeddings", self.inputs["places"]))
        if self.typed:
            self.inputs["types"] = op.parameter([-1], np.int32, name="types")
            states = op.add(states, self.rows_of("embeddings.token_type_embeddings", self.inputs["types"]))
        elif self.architecture.types:
            states = op.add(states, self.constant(self.weights["embeddings.token_type_embeddings.weight"][:1]))
        return self.normalised(states, "embeddings.LayerNorm")

    def mask(self) -> Node:
        """What is added to the scores of attention."""
        if self.architecture.family != "mpnet":
            return self.inputs["mask"]
        self.inputs["buckets"] = op.parameter([-1, -1], np.int32, name="buckets")
        by_head = op.transpose(self.rows_of(RELATIVE, self.inputs["buckets"]), _numbers(2, 0, 1))
        return op.add(self.inputs["mask"], op.unsqueeze(by_head, _numbers(0)))

    def transformed(self, states: Node, mask: Node, layer: str) -> Node:
        """One transformer layer."""
        names = self.architecture.names
        query, key, value = (
            self.by_heads(self.linear(states, f"{layer}.{name}")) for name in (names.query, names.key, names.value)
        )
        windows = op.transpose(op.scaled_dot_product_attention(query, key, value, mask), _numbers(0, 2, 1, 3))
        cells = op.reshape(windows, _numbers(-1, self.architecture.size), special_zero=False)
        attended = self.linear(_gathered(cells, self.inputs["cell"]), f"{layer}.{names.attended}")
        states = self.normalised(op.add(attended, states), f"{layer}.{names.attended_norm}")
        inner = self.activated(self.linear(states, f"{layer}.{names.inner}"))
        return self.normalised(op.add(self.linear(inner, f"{layer}.{names.outer}"), states), f"{layer}.{names.norm}")

    def by_heads(self, rows: Node) -> Node:
        """(windows, heads, length, size of a head) from rows (tokens, size)."""
        heads = self.architecture.heads
        windows = _gathered(rows, self.inputs["row"])
        split = op.reshape(windows, _numbers(0, 0, heads, self.architecture.size // heads), special_zero=True)
        return op.transpose(split, _numbers(0, 2, 1, 3))

    def activated(self, states: Node) -> Node:
        kind = ACTIVATIONS[self.architecture.activation]
        return op.relu(states) if kind == "relu" else op.gelu(states, kind)

    def linear(self, rows: Node, name: str) -> Node:
        product = op.matmul(rows, self.constant(self.weights[f"{name}.weight"]), False, True)
        return op.add(product, self.constant(self.weights[f"{name}.bias"][None]))

    def normalised(self, rows: Node, name: str) -> Node:
        """Each row with mean 0 and variance 1, then scaled and shifted by weights."""
        standard = op.mvn(rows, _numbers(-1), True, self.architecture.epsilon, "inside_sqrt")
        scaled = op.multiply(standard, self.constant(self.weights[f"{name}.weight"][None]))
        return op.add(scaled, self.constant(self.weights[f"{name}.bias"][None]))

    def rows_of(self, name: str, numbers: Node) -> Node:
        return _gathered(self.constant(self.weights[f"{name}.weight"]), numbers)

    def constant(self, values: np.ndarray) -> Node:
        """An array as part of the graph, which is not copied."""
        return op.constant(np.ascontiguousarray(values, dtype=np.float32), shared_memory=True)


def _numbers(*values: int) -> Node:
    return op.constant(np.array(values, dtype=np.int64))


def _gathered(rows: Node, numbers: Node) -> Node:
    """The rows with these numbers."""
    return op.gather(rows, numbers, op.constant(np.int64(0)))
