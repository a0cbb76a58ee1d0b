"""The layer gives what `solve` gives, to the bit, and its operators can be exported, compiled and checked by torch."""

import io
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

import whymatch as wm
from whymatch.transport import Status, Temperature

SIZES = torch.tensor([[5, 6], [4, 3], [3, 2], [2, 2]])
ALL = [wm.Balanced(), wm.OneTo(1), wm.UpTo(2, below=0.3), wm.Exactly(2), wm.Each(1, below=0.3)]


def costs(dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(4, 5, 6, dtype=dtype, generator=generator).requires_grad_()


def gradients(cost: Tensor, solution: wm.transport.Solution) -> Iterator[Tensor]:
    """Those of a weighted sum of the plan, where it has any, and of the objectives."""
    weights = torch.linspace(-1, 1, solution.plan.numel(), dtype=cost.dtype).view_as(solution.plan)
    if solution.plan.requires_grad:
        yield torch.autograd.grad((solution.plan * weights).sum(), cost, retain_graph=True)[0]
    yield torch.autograd.grad(solution.cost[solution.status == Status.OK].sum(), cost)[0]


@pytest.mark.parametrize("constraint", ALL, ids=lambda constraint: constraint.word)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("smooth", [None, 0.1, Temperature(0.05, relative=False)])
def test_the_layer_is_solve(constraint: wm.Constraint, dtype: torch.dtype, smooth: float | Temperature | None) -> None:
    if smooth is not None and not constraint.entropic:
        with pytest.raises(ValueError, match="no entropic plan"):
            wm.nn.Align(constraint, smooth)
        return
    temperature = Temperature(smooth) if isinstance(smooth, float) else smooth
    for sizes in (None, SIZES):
        cost = costs(dtype)
        ours = wm.nn.Align(constraint, smooth)(cost, sizes)
        other = wm.solve(cost, constraint, sizes=sizes, smooth=temperature, strict=False)
        for a, b in zip(ours, other, strict=True):
            assert torch.equal(a, b)
        for a, b in zip(gradients(cost, ours), gradients(cost, other), strict=False):
            assert torch.equal(a, b)


def test_masses_are_those_of_balanced() -> None:
    cost, mass = costs()[0].detach(), (torch.full((5,), 6.0), torch.full((6,), 5.0))
    assert torch.equal(wm.nn.Align("balanced")(cost, mass=mass).plan, wm.solve(cost, wm.Balanced(), mass=mass).plan)


def test_a_problem_without_a_solution_has_a_status_and_no_gradient() -> None:
    cost = costs()
    solution = wm.nn.Align("exactly:3")(cost, SIZES)
    assert solution.status.tolist() == [Status.OK, Status.OK, Status.INFEASIBLE, Status.INFEASIBLE]
    (gradient,) = torch.autograd.grad(solution.plan.square().sum(), cost)
    assert gradient.isfinite().all()
    assert not gradient[2:].any()


@pytest.mark.parametrize("constraint", [wm.Balanced(), wm.Exactly(2)])
def test_the_operators_are_what_torch_expects_of_them(constraint: wm.Constraint) -> None:
    layer, cost = wm.nn.Align(constraint), costs()
    rest = layer._settings, 0.1, True
    checks = "test_schema", "test_autograd_registration", "test_faketensor"
    torch.library.opcheck(torch.ops.whymatch.align.default, (cost, SIZES, None, None, *rest), test_utils=checks)
    arguments = torch.ones_like(cost), cost.detach(), None, None, None, torch.zeros(4, dtype=torch.int64), *rest
    torch.library.opcheck(torch.ops.whymatch.pull_back.default, arguments, test_utils=checks)


class Reader(nn.Module):
    """Each left vector reads the right vectors that it is linked to."""

    def __init__(self) -> None:
        super().__init__()
        self.of_both = nn.Linear(8, 8)
        self.align = wm.nn.Align(wm.OneTo(1))

    def forward(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        left, right = (nn.functional.normalize(self.of_both(side), dim=-1) for side in (left, right))
        solution = self.align(1 - left @ right.mT)
        return solution.plan @ right, solution.cost


def test_a_model_with_the_layer_can_be_exported_for_texts_of_any_size_and_saved() -> None:
    model = Reader()
    batch, n, m = (torch.export.Dim(name) for name in ("batch", "n", "m"))
    example = torch.randn(3, 4, 8), torch.randn(3, 5, 8)
    program = torch.export.export(model, example, dynamic_shapes=({0: batch, 1: n}, {0: batch, 1: m}))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = torch.export.load(file).module()
    for sizes in ((3, 4, 5), (2, 7, 3)):
        left, right = torch.randn(sizes[0], sizes[1], 8), torch.randn(sizes[0], sizes[2], 8)
        for ours, other in zip(loaded(left, right), model(left, right), strict=True):
            assert torch.equal(ours, other)


def test_a_compiled_model_has_the_same_values_and_gradients() -> None:
    model, left, right = Reader(), torch.randn(2, 3, 8), torch.randn(2, 4, 8)
    runs = []
    for run in (model, torch.compile(model, fullgraph=True, backend="aot_eager")):
        model.zero_grad()
        read, cost = run(left, right)
        torch.autograd.backward(read.sum() + cost.sum())
        assert model.of_both.weight.grad is not None
        runs.append((read, cost, model.of_both.weight.grad.clone()))
    for ours, other in zip(*runs, strict=True):
        assert torch.allclose(ours, other, atol=1e-6)


def test_the_layer_has_no_state_and_says_what_it_does() -> None:
    layer = wm.nn.Align("exactly:2", 0.2)
    assert layer.state_dict() == {}
    assert repr(layer) == "Align(exactly:2, smooth=Temperature(epsilon=0.2, relative=True))"


@pytest.mark.parametrize(
    ("constraint", "kind", "message"),
    [("up-to:1", ValueError, "below"), (2, TypeError, "A constraint is"), ("each:1", ValueError, "no entropic plan")],
)
def test_what_is_no_constraint_for_it_is_refused_at_once(
    constraint: wm.Constraint | str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        wm.nn.Align(constraint)
