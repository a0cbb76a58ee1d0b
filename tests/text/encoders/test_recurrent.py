"""The SRU computes its published equations, and padding and neighbours change nothing."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from whymatch.text.document import joined
from whymatch.text.encoders.recurrent import MAX_SEQUENCES_PER_BATCH, MAX_WORDS_PER_SEQUENCE, RecurrentEncoder
from whymatch.text.encoders.sru import SRU, Direction
from whymatch.text.spans import Span, words
from whymatch.text.vectors import WordVectors


def published(layer: Direction, inputs: torch.Tensor) -> torch.Tensor:
    """Equations 3 to 7 of the paper on the simple recurrent unit, one text and one number at a time."""
    hidden = layer.hidden
    w = layer.weight.weight
    parts = [w[i * hidden : (i + 1) * hidden] for i in range(len(w) // hidden)]
    c, out = [0.0] * hidden, []
    for x in inputs:
        h, state = [], []
        for d in range(hidden):
            gate_f, gate_r = layer.gates[d], layer.gates[hidden + d]
            f = 1 / (1 + torch.exp(-(parts[1][d] @ x + gate_f * c[d] + layer.bias[d])))
            r = 1 / (1 + torch.exp(-(parts[2][d] @ x + gate_r * c[d] + layer.bias[hidden + d])))
            new = f * c[d] + (1 - f) * (parts[0][d] @ x)
            h.append(r * new + (1 - r) * (x[d] if len(parts) == 3 else parts[3][d] @ x))
            state.append(new)
        c = state
        out.append(torch.stack(h))
    return torch.stack(out)


@pytest.mark.parametrize(("inputs", "hidden"), [(3, 3), (5, 3)])
def test_a_layer_computes_the_published_equations(inputs: int, hidden: int) -> None:
    torch.manual_seed(0)
    layer = Direction(inputs, hidden).double()
    torch.nn.init.normal_(layer.bias)
    texts = torch.randn(2, 6, inputs, dtype=torch.float64)
    for text, states in zip(texts, layer(texts), strict=True):
        torch.testing.assert_close(states, published(layer, text))


def test_both_directions_see_the_text_from_their_end() -> None:
    torch.manual_seed(0)
    sru = SRU(4, 3, 1).double()
    text = torch.randn(1, 5, 4, dtype=torch.float64)
    states = sru(text, torch.tensor([5]))[0]
    torch.testing.assert_close(states[:, :3], published(sru.forwards[0], text[0]))  # type: ignore[arg-type]
    torch.testing.assert_close(states[:, 3:], published(sru.backwards[0], text[0].flip(0)).flip(0))  # type: ignore[arg-type]


def test_padding_of_any_value_changes_nothing() -> None:
    torch.manual_seed(0)
    sru = SRU(4, 3, 2)
    texts = torch.randn(2, 7, 4)
    alone = sru(texts[:1, :3], torch.tensor([3]))
    texts[0, 3:] = 1e6
    torch.testing.assert_close(sru(texts, torch.tensor([3, 7]))[:1, :3], alone)


def test_gradients_are_those_of_the_equations() -> None:
    torch.manual_seed(0)
    sru = SRU(3, 2, 2).double()
    texts = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: sru(x, torch.tensor([4, 4])), (texts,))


VECTORS = WordVectors(
    "toy", {word: i for i, word in enumerate(["the", "cat", "sat", "Dog"])}, torch.randn(4, 5).numpy()
)


@given(st.lists(st.text(alphabet="the cat sat dog.", min_size=1).filter(str.strip), min_size=1, max_size=4))
def test_spans_are_read_alone_unless_in_context(pieces: list[str]) -> None:
    encoder = RecurrentEncoder(VECTORS, hidden=3, layers=2)
    document = joined(pieces)
    together = encoder.encode([document.text], [document.spans])[0]
    alone = [encoder.encode([piece], [joined([piece]).spans])[0][0] for piece in pieces]
    torch.testing.assert_close(together, np.stack(alone))


def test_context_reaches_a_word_from_both_sides() -> None:
    encoder = RecurrentEncoder(VECTORS, hidden=3, layers=1, in_context=True)
    one, other = (encoder.encode([text], [words(text)])[0] for text in ("the cat sat", "the cat the"))
    assert not np.allclose(one[0], other[0])
    assert encoder.contextual


def test_unknown_words_are_defined() -> None:
    vectors = VECTORS.of(["CAT", "cat", "dog", "Dog", "zebra"])
    assert np.array_equal(vectors[0], vectors[1])
    assert vectors.any(axis=1).tolist() == [True, True, False, True, False]


def test_the_seed_decides_and_leaves_other_randomness_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    one, same, other = (RecurrentEncoder(VECTORS, hidden=3, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(torch.rand(3), expected)
    weights = [next(iter(encoder.parameters())) for encoder in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_a_text_without_words_has_zero_vectors() -> None:
    encoder = RecurrentEncoder(VECTORS, hidden=3)
    assert encoder.encode(["", "cat"], [[], []])[0].shape == (0, 6)
    assert not RecurrentEncoder(VECTORS, layers=0).encode(["zebra"], [words("zebra")])[0].any()


def test_encoding_is_the_same_twice_while_learning() -> None:
    encoder = RecurrentEncoder(VECTORS, hidden=3, dropout=0.5).train()
    one, other = (encoder.encode(["the cat"], [words("the cat")])[0] for _ in range(2))
    assert np.array_equal(one, other)
    assert encoder.training


def test_words_count_by_their_weights_in_a_mean() -> None:
    weights = torch.arange(len(VECTORS.vectors), dtype=torch.float32)
    text = joined([*list(VECTORS.words)[:3], " ".join(list(VECTORS.words)[1:4])])
    mean = RecurrentEncoder(VECTORS, layers=0, weights=weights).encode([text.text], [text.spans])[0]
    weighted = torch.from_numpy(VECTORS.vectors) * weights[:, None]
    torch.testing.assert_close(torch.from_numpy(mean), torch.cat([weighted[:3], weighted[1:4].mean(dim=0)[None]]))
    with pytest.raises(ValueError, match="weights are one per word vector"):
        RecurrentEncoder(VECTORS, layers=1, weights=weights)
    with pytest.raises(ValueError, match="weights are one per word vector"):
        RecurrentEncoder(VECTORS, layers=0, weights=weights[:-1])


def test_one_long_text_does_not_make_the_others_long() -> None:
    encoder = RecurrentEncoder(VECTORS, hidden=2, layers=1)
    shapes = []
    assert encoder.sru is not None
    encoder.sru.register_forward_pre_hook(lambda _, given: shapes.append(tuple(given[0].shape[:2])))
    pieces = ["cat mat " * 40] * 300 + ["cat " * 3000]
    text = joined(pieces)
    vectors = encoder.encode([text.text], [text.spans])[0]
    torch.testing.assert_close(vectors[-1:], encoder.encode([pieces[-1]], [[Span(0, len(pieces[-1]))]])[0])
    assert sum(texts for texts, _ in shapes) == 302
    assert all(
        texts == 1 or texts * steps <= MAX_SEQUENCES_PER_BATCH["cpu"] * MAX_WORDS_PER_SEQUENCE
        for texts, steps in shapes
    )
