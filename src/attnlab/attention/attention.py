"""What was found: one `Attention`, its parts tied to steps and values of the Run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Style: TypeAlias = Literal["written", "sdpa", "mha", "layer", "flex"]
Role: TypeAlias = Literal["query", "key", "batch", "head", "unknown"]


@dataclass(frozen=True, slots=True)
class Input:
    """One of q, k and v: what enters the products, and where it comes from.

    `value`   its id: as it enters the product, but for a scaling and for the transposition that the product needs
    `step`    the step that made it; None for a parameter, a buffer, or what came from outside. Where the whole
              attention is inside one call of a library, that call's step
    `entered` id of the value that enters the product
    `x`       id of the value that the projection was applied to; None where no projection was seen
    `project` the step that projected it: linear, a product with a weight, a convolution
    `layout`  steps that changed its layout (head split, repeat …) between projection and `value`, in order
    `scale`   steps that scale it
    `turned`  the step that only exchanged its last two axes for the product
    """

    value: int
    step: int | None
    entered: int
    x: int | None
    project: int | None
    layout: tuple[int, ...]
    scale: tuple[int, ...]
    turned: int | None


@dataclass(frozen=True, slots=True)
class Grid:
    """Scores or weights: the step that made them, the value, and which of its axes are queries' and keys'.

    `value` is None where a fused operation keeps it to itself. `query`, `key`: axes counted from the front; None
    where there is no such axis (a single query), where there are several, or where it could not be followed.
    `parts`: for each axis what it holds and how many, the slowest first: samples and heads may share one, and none
    is known for one of size 1 that was put there. Empty where the axes could not be followed.
    """

    step: int
    value: int | None
    query: int | None
    key: int | None
    parts: tuple[tuple[tuple[Role, int], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Mask:
    """A step that hides scores or weights.

    `kind`   "fill": `masked_fill`, `where`, `tril`; "add": a large negative number is added; "multiply": by 0;
             "write": an assignment into the tensor; "argument": given to a fused operation
    `value`  id of the mask; None where it is no tensor (`is_causal=True`, `scores.tril()`)
    `causal` whether it hides from each query the keys that come later; None where it can't be told
    `late`   whether it comes after the softmax
    """

    step: int
    kind: Literal["fill", "add", "multiply", "write", "argument"]
    value: int | None
    causal: bool | None
    late: bool


@dataclass(frozen=True, slots=True)
class Attention:
    """One attention of a Run. Steps are indices into `Run.steps`, values are ids of `Run.values`.

    `style`     "written" out; or by `F.scaled_dot_product_attention`, `nn.MultiheadAttention`, the fast path of
                `nn.TransformerEncoderLayer`, flex attention: there scores, softmax and output are one step
    `function`  the user's function in which the scores are made; `module`, `module_type` as in Step
    `additive`  the scores are `w · tanh(q + k)`, no product of q and k
    `scale`     steps that scale q, k or the scores, in order; `factor` all of it as one number, None where unknown
    `cap`       steps of a soft cap, `c · tanh(scores / c)`
    `bias`      steps that add what is no mask: relative positions, ALiBi
    `softmax`   one step, or those of a softmax written out
    `normalised`, `summed`  which axis the softmax runs over, and which the product with v sums over; "key" if right
    `weights`   what the softmax made; `dropout` is applied after
    `output`    the step of the product with v; `result` its value; `merge` the layout steps after it
    `blocks`    over how many blocks of keys it was computed (online softmax); the parts are those of the first
    `queries`, `keys`, `d_k`, `d_v`  sizes; `queries` is 1 where there is a single query without an axis, and all of
                them where several axes hold queries
    `heads`, `kv_heads`  None where they can't be told; the same unless heads of keys are shared
    `kind`      "self" or "cross"; None where it can't be told, as for q, k and v drawn at random
    `causal`    None where it can't be told
    `steps`     all of them, in reading order: x, q, k, v, kᵀ, scores … softmax … output, projection
    """

    index: int
    style: Style
    module: str | None
    module_type: str | None
    function: str
    q: Input
    k: Input
    v: Input
    additive: bool
    scores: Grid
    scale: tuple[int, ...]
    factor: float | None
    cap: tuple[int, ...]
    bias: tuple[int, ...]
    masks: tuple[Mask, ...]
    softmax: tuple[int, ...]
    normalised: Role
    summed: Role
    weights: Grid
    dropout: tuple[int, ...]
    output: int
    result: int
    merge: tuple[int, ...]
    project_out: int | None
    blocks: int
    queries: int | None
    keys: int | None
    d_k: int | None
    d_v: int | None
    heads: int | None
    kv_heads: int | None
    kind: Literal["self", "cross"] | None
    causal: bool | None
    steps: tuple[int, ...]
