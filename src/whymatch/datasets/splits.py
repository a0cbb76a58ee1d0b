"""Splits of a corpus in which no text is in two, and dissimilar texts for its queries."""

import random
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)

SHARES = {"train": 0.8, "val": 0.1, "test": 0.1}


def components(nodes: Iterable[Node], edges: Iterable[tuple[Node, Node]]) -> list[list[Node]]:
    """The connected components, by union-find; the nodes, and the components by their first nodes, stay in order.

    >>> components("abcde", [("a", "c"), ("e", "c")])
    [['a', 'c', 'e'], ['b'], ['d']]
    """
    parent = {node: node for node in nodes}

    def root(node: Node) -> Node:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for left, right in edges:
        parent[root(right)] = root(left)
    groups: dict[Node, list[Node]] = {}
    for node in parent:
        groups.setdefault(root(node), []).append(node)
    return list(groups.values())


def split_whole(
    groups: Iterable[Sequence[Node]], seed: int, shares: Mapping[str, float] = SHARES
) -> dict[str, list[Sequence[Node]]]:
    """The groups by split, none divided: in an order that the seed fixes, each goes to the split that lacks most."""
    shuffled = list(groups)
    random.Random(seed).shuffle(shuffled)
    total = sum(map(len, shuffled))
    missing = {split: share * total for split, share in shares.items()}
    splits: dict[str, list[Sequence[Node]]] = {split: [] for split in shares}
    for group in shuffled:
        split = max(missing, key=missing.__getitem__)
        splits[split].append(group)
        missing[split] -= len(group)
    return splits


def dissimilar(query: str, among: Sequence[str], never: Collection[str], count: int, seed: int) -> list[str]:
    """The ids of `count` different texts that are not in `never`, drawn by the seed and the query's id alone.

    Raises:
        ValueError: if there are not as many.
    """
    free = len(among) - sum(id_ in never for id_ in among) if len(among) < 2 * (count + len(never)) else count
    if free < count:
        raise ValueError(
            f"{query} needs {count} dissimilar texts of its split, which has {free}. Ask for fewer: --negatives {free}."
        )
    generator, drawn = random.Random(f"{seed}:{query}"), dict[str, None]()
    while len(drawn) < count:
        id_ = generator.choice(among)
        if id_ not in never:
            drawn[id_] = None
    return list(drawn)
