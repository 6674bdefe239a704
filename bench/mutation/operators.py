"""The slips: each operator yields, for a right script, the edits that make it wrong, one slip at a time.

They go by the text alone and know nothing of what `check` looks for. Some of what they write is no fault, since
it is still attention (another query mask, say, or roles with other names): the report lists what was not found.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise

from mutation.script import Edit, Mutant, Script, called, keyword, name_of

Operator = Callable[[Script], Iterator[tuple[Edit, ...]]]
OPERATORS: dict[str, Operator] = {}
# Operators whose mutants may be meant, and why: they are told, and do not count.
MEANT = {
    "mask dropped": "attention without a mask is attention; only a target that is shifted says that one is missing",
    "source exchanged": "keys and values may come from where they do, and a query from the memory",
    "triangle turned": "a row that sees itself and what comes later is right in a model that reads backwards",
    "temperature changed": "what vectors of length one are multiplied by is a temperature, and any number is one",
    "residual scaled otherwise": "by how much the sum of a residual is made smaller is a choice",
    "norm dropped": "attention of what was not normed is attention",
    "pattern changed": "blocks that see themselves whole and all before (frames of a video), blocks that are causal "
    "each by itself, chosen tokens that see all: each is a pattern of sparse attention",
    "prompt for padding": "lengths that say where a prompt ends and where the padding begins are written alike",
    "features ordered otherwise": "which rows of a learned weight serve which head and role is the weight's own affair",
    "drawn weight transposed": "a square matrix that was drawn, transposed, is another one that was drawn",
    "decay changed": "rates of a decay, which is the same for q and k, may be others",
}


def operator(function: Operator) -> Operator:
    OPERATORS[function.__name__.replace("_", " ")] = function
    return function


def mutants(text: str) -> list[Mutant]:
    """Every slip of every operator, once."""
    script = Script(text)
    found: dict[str, Mutant] = {}
    for name, function in OPERATORS.items():
        for edits in function(script):
            mutant = script.mutant(name, edits)
            if mutant.text != text:
                found.setdefault(mutant.text, mutant)
    return list(found.values())


# -- scale -------------------------------------------------------------------------------------------------------

_DIVISOR = re.compile(r"sqrt|scal|\*\*\s*\(?(0?\.5|1\s*/\s*2)")
_FACTOR = re.compile(r"scal|factor|rsqrt|1(\.0?)?\s*/|\*\*\s*\(?-")
# What is scaled when it is made (weights, the frequencies of positions) is another matter.
_MADE = re.compile(r"rand|arange|timescale|ones|empty|Parameter|theta|freq|angle|exp\(|embed|tok_")


def scalings(script: Script) -> Iterator[tuple[ast.BinOp, bool]]:
    """Those of `scaled` that scale scores, or a norm."""
    yield from ((node, divides) for node, divides in scaled(script) if not chosen(script, node))


def scaled(script: Script) -> Iterator[tuple[ast.BinOp, bool]]:
    """Products and quotients of which the right part looks like the scale of scores, and whether it divides."""
    for node in script.all(ast.BinOp):
        divides = isinstance(node.op, ast.Div)
        if not divides and not isinstance(node.op, ast.Mult):
            continue
        scales = (_DIVISOR if divides else _FACTOR).search(script.of(node.right))
        if scales and not isinstance(node.left, ast.Constant) and not _MADE.search(script.of(node.left)):
            yield node, divides


def chosen(script: Script, node: ast.BinOp) -> str | None:
    """The operator of `MEANT` that a scale belongs to whose number is a choice."""
    if (
        isinstance(node.left, ast.BinOp)
        and isinstance(node.left.op, ast.Add)
        and not re.search(r"[^\W\d]", script.of(node.right))
    ):
        return "residual scaled otherwise"
    unit = [item for item in script.all(ast.Call) if called(item, "normalize") and keyword(item, "p") is None]
    return "temperature changed" if len(unit) > 1 else None


def of_norm(script: Script, node: ast.BinOp) -> bool:
    """Whether something is multiplied by, or divided by, its own size."""
    return "mean" in script.of(node.right)


@operator
def temperature_changed(script: Script) -> Iterator[tuple[Edit, ...]]:
    yield from _other_numbers(script, "temperature changed")


@operator
def residual_scaled_otherwise(script: Script) -> Iterator[tuple[Edit, ...]]:
    yield from _other_numbers(script, "residual scaled otherwise")


def _other_numbers(script: Script, kind: str) -> Iterator[tuple[Edit, ...]]:
    """No scale, the inverse, the scale twice, no root."""
    for node, _, text in every_root(script):
        product = script.parents.get(node)
        if isinstance(product, ast.BinOp) and product.right is node and chosen(script, product) == kind:
            yield (script.put(node, text),)
    for node, divides in scaled(script):
        if chosen(script, node) == kind:
            left, right = _part(script, node.left), _part(script, node.right)
            yield (script.put(node, left),)
            yield (script.put(node, f"{left} {'*' if divides else '/'} {right}"),)
            yield (script.put(node, f"{script.of(node)} {'/' if divides else '*'} {right}"),)


@operator
def norm_dropped(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node, _ in scalings(script):
        if of_norm(script, node):
            yield (script.put(node, script.of(node.left)),)


@operator
def scale_dropped(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node, _ in scalings(script):
        if not of_norm(script, node):
            yield (script.put(node, script.of(node.left)),)
    for node in script.all(ast.AugAssign):
        pattern = {ast.Mult: _FACTOR, ast.Div: _DIVISOR}.get(type(node.op))
        if pattern is not None and pattern.search(script.of(node.value)):
            yield (script.put(node, "pass"),)
    for node in script.all(ast.Call):
        if called(node, "scaled_dot_product_attention"):
            yield (_with(script, node, "scale", "1.0"),)


@operator
def scale_inverted(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node, divides in scalings(script):
        yield (script.put(node, f"{_part(script, node.left)} {'*' if divides else '/'} {_part(script, node.right)}"),)


@operator
def scale_twice(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node, divides in scalings(script):
        sign = "/" if divides else "*"
        yield (script.put(node, f"{script.of(node)} {sign} {_part(script, node.right)}"),)


def roots(script: Script) -> Iterator[tuple[ast.expr, ast.expr, str]]:
    """Those of `every_root` that scale scores."""
    for found in every_root(script):
        product = script.parents.get(found[0])
        if not (isinstance(product, ast.BinOp) and product.right is found[0] and chosen(script, product)):
            yield found


def every_root(script: Script) -> Iterator[tuple[ast.expr, ast.expr, str]]:
    """Square roots, outside of what is made with them: the node, what the root is of, and the text without root."""
    for node in script.all(ast.expr):
        statement = script.within(node, ast.stmt)
        if statement is None or _MADE.search(script.of(statement)) or "mean" in script.of(statement):
            continue
        if isinstance(node, ast.Call) and called(node, "sqrt", "rsqrt") and len(node.args) == 1:
            yield node, node.args[0], _part(script, node.args[0])
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            power = script.of(node.right)
            if re.fullmatch(r"-?0?\.5", power):
                yield node, node.left, f"{_part(script, node.left)} ** {'-1' if power.startswith('-') else '1'}"


@operator
def scale_without_root(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node, _, text in roots(script):
        yield (script.put(node, text),)


@operator
def scale_of_another_size(script: Script) -> Iterator[tuple[Edit, ...]]:
    for _, root, _ in roots(script):
        for other in _other_sizes(script, root):
            yield (script.put(root, other),)


_WIDE = re.compile(r"d_model|dim_model|embed|model_dim|hidden|width|n_embd|dim|d|D|C|E|size")
_LONG = re.compile(r"seq_len|length|seq|L|T|S|N|n|num_tokens|lq|lk|max_len")


def _other_sizes(script: Script, root: ast.expr) -> Iterator[str]:
    text = script.of(root)
    for old, new in (("size(-1)", "size(-2)"), ("shape[-1]", "shape[-2]"), ("shape[-1]", "shape[1]")):
        if old in text:
            yield text.replace(old, new)
    if not isinstance(root, (ast.Name, ast.Attribute)):
        return
    prefix = script.of(root.value) + "." if isinstance(root, ast.Attribute) else ""
    known = {name_of(node) for node in script.all(ast.Name)} | {node.attr for node in script.all(ast.Attribute)}
    known |= {node.arg for node in script.all(ast.arg)}
    for name in sorted(known - {name_of(root)}):
        if _WIDE.fullmatch(name) or _LONG.fullmatch(name):
            yield prefix + name


@operator
def scale_after_softmax(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        scores = _softened(node)
        if isinstance(scores, ast.BinOp):
            found = next(((n, d) for n, d in scalings(script) if n is scores), None)
            if found:
                sign = "/" if found[1] else "*"
                outer = script.of(node).replace(script.of(scores), script.of(scores.left))
                yield (script.put(node, f"{outer} {sign} {_part(script, scores.right)}"),)


# -- softmax -----------------------------------------------------------------------------------------------------


def _softened(node: ast.AST) -> ast.expr | None:
    """What a call of softmax is given."""
    if not isinstance(node, ast.Call) or name_of(node.func) != "softmax":
        return None
    if isinstance(node.func, ast.Attribute) and name_of(node.func.value) not in ("F", "torch", "functional", "nn"):
        return node.func.value
    return node.args[0] if node.args else None


def _dim(node: ast.Call) -> ast.expr | None:
    found = keyword(node, "dim")
    if found is not None:
        return found.value
    numbers = [item for item in node.args if isinstance(item, (ast.Constant, ast.UnaryOp))]
    return numbers[0] if numbers else None


def only_printed(script: Script, node: ast.expr) -> bool:
    """Whether an expression is printed, at most a part or a measure of it, and goes nowhere else.

    Weights that are shown and never meet v are no attention, so that a slip in them is no fault of one.
    """
    at, outer = node, script.parents.get(node)
    while isinstance(outer, ast.expr) and not called(outer, "print"):
        method = isinstance(outer, ast.Call) and outer.func is at and not called(outer, "matmul", "bmm", "mm")
        part = isinstance(outer, (ast.Subscript, ast.Attribute)) and outer.value is at
        if not (method or part):
            return False
        at, outer = outer, script.parents.get(outer)
    return isinstance(outer, ast.Call) and isinstance(script.parents.get(outer), ast.Expr)


@operator
def softmax_over_another_axis(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        softens = called(node, "softmax", "Softmax") and not only_printed(script, node)
        if softens and (dim := _dim(node)) is not None:
            for other in ("-1", "-2", "1", "0"):
                if other != script.of(dim):
                    yield (script.put(dim, other),)


@operator
def softmax_twice(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        softens = _softened(node) is not None and not only_printed(script, node)
        if softens and (dim := _dim(node)) is not None:
            yield (script.put(node, f"{script.of(node)}.softmax(dim={script.of(dim)})"),)


@operator
def softmax_without_dim(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        if called(node, "softmax") and name_of(getattr(node.func, "value", node)) in ("F", "functional") and node.args:
            yield (script.put(node, f"{script.of(node.func)}({script.of(node.args[0])})"),)


# -- products ----------------------------------------------------------------------------------------------------


def products(script: Script) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
    """Each product of matrices, and its two operands."""
    for node in script.all(ast.BinOp):
        if isinstance(node.op, ast.MatMult):
            yield node, node.left, node.right
    for node in script.all(ast.Call):
        if called(node, "matmul", "bmm"):
            if len(node.args) == 2:
                yield node, node.args[0], node.args[1]
            elif len(node.args) == 1 and isinstance(node.func, ast.Attribute):
                yield node, node.func.value, node.args[0]


@operator
def operands_swapped(script: Script) -> Iterator[tuple[Edit, ...]]:
    for _, left, right in products(script):
        yield script.put(left, _part(script, right)), script.put(right, _part(script, left))


def resolved(script: Script, node: ast.expr) -> ast.expr:
    """What a name was given last before it is read here; the expression itself where it is no such name."""
    found = node
    for other in script.all(ast.Assign):
        names = [item for target in other.targets for item in getattr(target, "elts", [target])]
        named = isinstance(node, ast.Name) and any(script.of(item) == node.id for item in names)
        if named and script.span(other)[1] <= script.span(node)[0]:
            found = other.value
    return found


def is_drawn_square(script: Script, node: ast.expr) -> bool:
    """Whether a matrix was drawn, and has as many rows as columns."""
    inner = list(ast.walk(resolved(script, node)))
    if any(isinstance(item, ast.MatMult) or called(item, "Linear", "matmul") for item in inner):
        return False
    drawn = [item for item in inner if called(item, "randn", "rand")]
    sizes = [script.of(item) for item in drawn[0].args] if drawn and isinstance(drawn[0], ast.Call) else []
    return len(sizes) == 2 and sizes[0] == sizes[1]


@operator
def operand_transposed(script: Script) -> Iterator[tuple[Edit, ...]]:
    for _, left, _ in products(script):
        if not is_drawn_square(script, left):
            yield (script.put(left, f"{_part(script, left)}.transpose(-2, -1)"),)


@operator
def drawn_weight_transposed(script: Script) -> Iterator[tuple[Edit, ...]]:
    for _, left, _ in products(script):
        if is_drawn_square(script, left):
            yield (script.put(left, f"{_part(script, left)}.transpose(-2, -1)"),)


@operator
def transposition_dropped(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        moves = called(node, "transpose", "permute", "swapaxes", "movedim", "t")
        if moves and isinstance(node.func, ast.Attribute) and name_of(node.func.value) not in ("torch", "nn"):
            yield (script.put(node, script.of(node.func.value)),)
    for node in script.all(ast.Attribute):
        if node.attr in ("T", "mT"):
            yield (script.put(node, script.of(node.value)),)


@operator
def other_axes_transposed(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        if called(node, "transpose", "swapaxes") and len(node.args) == 2:
            pair = [script.of(item) for item in node.args]
            for other in (["0", "1"], ["1", "2"], ["-2", "-1"], ["1", "-1"]):
                if other not in (pair, pair[::-1]):
                    yield tuple(script.put(old, new) for old, new in zip(node.args, other, strict=True))
        if called(node, "permute") and len(node.args) > 2:
            for one, two in combinations(node.args, 2):
                if not {script.of(one), script.of(two)} <= set(features(script, node)):
                    yield script.put(one, script.of(two)), script.put(two, script.of(one))


@operator
def features_ordered_otherwise(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        for one, two in combinations(node.args, 2) if called(node, "permute") else ():
            if {script.of(one), script.of(two)} <= set(features(script, node)):
                yield script.put(one, script.of(two)), script.put(two, script.of(one))


def features(script: Script, node: ast.Call) -> list[str]:
    """The axes, as `permute` names them, of role and head, where a view split them and three names take the roles.

    Exchanged they fit where there are three heads, and each role then gets as many rows of the weight as it had.
    """
    inner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if not called(inner or node, "view", "reshape") or not isinstance(inner, ast.Call):
        return []
    sizes = [script.of(item) for item in inner.args]
    statement = script.within(node, ast.Assign)
    taken = statement.targets[0] if statement is not None else None
    unpacked = isinstance(taken, ast.Tuple) and len(taken.elts) == 3
    return [str(sizes.index("3")), str(sizes.index("3") + 1)] if unpacked and "3" in sizes[2:] else []


@operator
def view_instead_of_transposition(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        if not called(node, "transpose") or not isinstance(node.func, ast.Attribute):
            continue
        inner, axes = node.func.value, [script.of(item) for item in node.args]
        splits = isinstance(inner, ast.Call) and called(inner, "view", "reshape") and len(inner.args) == 4
        if axes == ["1", "2"] and isinstance(inner, ast.Call) and splits:
            b, n, h, d = (script.of(item) for item in inner.args)
            yield (script.put(node, f"{script.of(inner.func)}({b}, {h}, {n}, {d})"),)
        text = script.of(inner)
        if axes == ["-2", "-1"] and isinstance(inner, (ast.Name, ast.Attribute)) and "torch" not in text:
            yield (script.put(node, f"{text}.reshape(*{text}.shape[:-2], {text}.shape[-1], {text}.shape[-2])"),)


_TURNS = ("transpose", "permute", "swapaxes")


@operator
def length_and_heads_swapped(script: Script) -> Iterator[tuple[Edit, ...]]:
    """In a view of four sizes; other sizes that change places make other heads of the same features, no fault."""
    for node in script.all(ast.Call):
        turned = isinstance(script.parents.get(node), ast.Attribute) and name_of(script.parents[node]) in _TURNS
        if turned and called(node, "view", "reshape") and len(node.args) == 4:
            one, two = node.args[1:3]
            yield script.put(one, script.of(two)), script.put(two, script.of(one))


@operator
def letters_of_einsum_swapped(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        if called(node, "einsum") and node.args and isinstance(node.args[0], ast.Constant):
            equation = str(node.args[0].value)
            sides, _, made = equation.replace(" ", "").partition("->")
            parts = [*sides.split(","), made]
            scores = len(parts) == 3 and parts[0][-1:] == parts[1][-1:]  # of a last product it is but another layout
            for place, part in enumerate(parts if scores else parts[:-1]):
                for one, two in pairwise(part):
                    swapped = part.translate(str.maketrans(one + two, two + one))
                    changed = [*parts[:place], swapped, *parts[place + 1 :]]
                    yield (script.put(node.args[0], repr(",".join(changed[:-1]) + "->" + changed[-1])),)


@operator
def order_of_rearrange_swapped(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        if called(node, "rearrange") and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            pattern = str(node.args[1].value)
            for group in re.findall(r"\((\w+) (\w+)\)", pattern):
                one, two = group
                yield (script.put(node.args[1], repr(pattern.replace(f"({one} {two})", f"({two} {one})"))),)


# -- projections -------------------------------------------------------------------------------------------------


_MAKERS = ("view", "reshape", "permute", "print", "zip", "range", "einsum", "cat", "expand", "repeat", "where", "max")
_MAKERS = (*_MAKERS, "randn", "rand", "zeros", "ones", "randint", "full", "empty", "tensor", "arange", "linspace")


@operator
def arguments_swapped(script: Script) -> Iterator[tuple[Edit, ...]]:
    """Keys and values of a call that is given queries, keys and values."""
    for node in script.all(ast.Call):
        made = name_of(node.func)
        if len(node.args) < 3 or made in _MAKERS or made[:1].isupper():  # what it is made of, not what it is given
            continue
        one, two = node.args[1:3]
        if script.of(one) != script.of(two) and not isinstance(one, ast.Constant) and not isinstance(two, ast.Constant):
            yield script.put(one, script.of(two)), script.put(two, script.of(one))


def _roles(script: Script) -> Iterator[tuple[ast.Call, ast.expr, str, list[str]]]:
    """Calls of a layer that has others like it beside it: the call, its name, and the names of the others."""
    alike: dict[str, set[str]] = {}
    for node in script.all(ast.Assign):
        if isinstance(node.value, ast.Call) and name_of(node.value.func) in ("Linear", "Conv1d", "Conv2d", "Parameter"):
            for target in node.targets:
                alike.setdefault(script.of(node.value), set()).add(script.of(target))
        elif isinstance(node.targets[0], ast.Tuple) and re.match(r"\(?(nn\.)?Linear", script.of(node.value)):
            names = [script.of(item) for item in node.targets[0].elts]
            alike.setdefault(script.of(node.value), set()).update(names)
    for node in script.all(ast.Call):
        own = script.of(node.func)
        for names in alike.values():
            if own in names and len(names) > 1:
                yield node, node.func, own, sorted(names - {own})


@operator
def layer_of_another_role(script: Script) -> Iterator[tuple[Edit, ...]]:
    for _, function, _, others in _roles(script):
        for other in others:
            yield (script.put(function, other),)


@operator
def keys_for_values(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node, left, right in products(script):
        if re.search(r"attn|weight|prob|alpha|\bp\b|\bw\b|\ba\b|softmax|\bA\b|\bP\b", script.of(left)):
            value = name_of(right)
            for old, new in (("V", "K"), ("v", "k"), ("value", "key"), ("values", "keys"), ("xv", "xk"), ("vs", "ks")):
                if value == old and re.search(rf"\b{new}\b", script.text[: script.span(node)[0]]):
                    yield (script.put(right, script.of(right)[: -len(old)] + new),)


@operator
def source_exchanged(script: Script) -> Iterator[tuple[Edit, ...]]:
    """A projection applied to another of the function's own arguments."""
    for function in script.all(ast.FunctionDef):
        names = [item.arg for item in function.args.args if item.arg != "self" and "mask" not in item.arg]
        if len(names) < 2:
            continue
        for node in ast.walk(function):
            if not isinstance(node, ast.Call) or len(node.args) != 1 or not script.of(node.func).startswith("self."):
                continue
            own = script.of(node.args[0])
            for other in names if own in names else ():
                if other != own:
                    yield (script.put(node.args[0], other),)


@operator
def one_layer_many_times(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.ListComp):
        makes = isinstance(node.elt, ast.Call) and re.match(r"[A-Z]|deepcopy", name_of(node.elt.func))
        if makes and called(node.generators[0].iter, "range"):
            count = script.of(node.generators[0].iter.args[-1])  # type: ignore[attr-defined]
            yield (script.put(node, f"[{script.of(node.elt)}] * ({count})"),)


@operator
def chunk_along_another_axis(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        if called(node, "chunk", "split", "unbind") and (dim := keyword(node, "dim")) is not None:
            for other in ("0", "1", "2", "-1", "-2"):
                if other != script.of(dim.value):
                    yield (script.put(dim.value, other),)


@operator
def heads_repeated_in_another_order(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        if not called(node, "repeat_interleave") or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        free = name_of(node.func.value) == "torch"
        whole, times, *rest = [
            *([] if free else [node.func.value]),
            *node.args,
            *(item.value for item in node.keywords),
        ]
        axis = script.of(rest[0]) if rest else ""
        if axis.isdigit():
            sizes = ", ".join("1" if place != int(axis) else script.of(times) for place in range(4))
            yield (script.put(node, f"{script.of(whole)}.repeat({sizes})"),)


# -- masks -------------------------------------------------------------------------------------------------------

_MASKED = re.compile(r"mask|causal|bias|pad|keep|future|visible|allowed|hidden|tril|triu|blocked|ahead|valid")


def masked(script: Script) -> Iterator[tuple[ast.Call, ast.expr, ast.expr, ast.expr]]:
    """Each `masked_fill`: the call, the scores, the mask and what it is filled with."""
    for node in script.all(ast.Call):
        if called(node, "masked_fill", "masked_fill_") and len(node.args) >= 2 and isinstance(node.func, ast.Attribute):
            late = script.of(node.args[1]) in ("0", "0.0")  # of weights, where a mask before the softmax is there too
            if not late and not re.search(r"ids|tokens|labels|zeros", script.of(node.func.value)):
                yield node, node.func.value, node.args[0], node.args[1]
        elif called(node, "where") and len(node.args) == 3 and _MASKED.search(script.of(node.args[0])):
            yield node, node.args[1], node.args[0], node.args[2]


_ARGUMENTS = ("attn_mask", "key_padding_mask", "mask", "src_mask", "tgt_mask", "memory_mask", "src_key_padding_mask")


@operator
def mask_dropped(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node, scores, _, _ in masked(script):
        yield (script.put(node, script.of(scores)),)
    for node in script.all(ast.BinOp):
        named = isinstance(node.right, (ast.Name, ast.Attribute, ast.Subscript))
        if isinstance(node.op, ast.Add) and named and re.search(r"mask|causal", script.of(node.right)):
            yield (script.put(node, script.of(node.left)),)
    for node in script.all(ast.keyword):
        if node.arg in _ARGUMENTS and script.of(node.value) != "None":
            yield (script.put(node.value, "None"),)
        if node.arg == "is_causal" and script.of(node.value) == "True":
            yield (script.put(node.value, "False"),)


@operator
def mask_inverted(script: Script) -> Iterator[tuple[Edit, ...]]:
    for _, _, mask, _ in masked(script):
        yield (script.put(mask, _opposite(script, mask)),)
    for node in script.all(ast.keyword):
        computed = isinstance(node.value, ast.BinOp) and isinstance(
            node.value.op, (ast.Mult, ast.Add)
        )  # no mask of bools
        if node.arg in _ARGUMENTS and script.of(node.value) != "None" and not computed:
            yield (script.put(node.value, _opposite(script, node.value)),)
    for node in script.all(ast.Assign):
        named = any(_MASKED.search(script.of(target)) for target in node.targets)
        if named and isinstance(node.value, (ast.Compare, ast.UnaryOp)):
            yield (script.put(node.value, _opposite(script, node.value)),)


def _opposite(script: Script, mask: ast.expr) -> str:
    text = script.of(mask)
    if isinstance(mask, ast.UnaryOp) and isinstance(mask.op, ast.Invert):
        return script.of(mask.operand)
    if isinstance(mask, ast.Compare) and len(mask.ops) == 1:
        signs = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
        for old, new in signs.items():
            if f" {old} " in text:
                return text.replace(f" {old} ", f" {new} ")
    if isinstance(mask, ast.Call) and isinstance(mask.func, ast.Attribute) and mask.func.attr in ("eq", "ne"):
        return text.replace(".eq(", ".ne(") if mask.func.attr == "eq" else text.replace(".ne(", ".eq(")
    return f"({text}).logical_not()"


@operator
def triangle_exchanged(script: Script) -> Iterator[tuple[Edit, ...]]:
    """Of a triangle without the diagonal: its other half leaves a row without any key, or blocks the past."""
    for node, old, strict in _triangles(script):
        if strict:
            yield (_renamed(script, node, old),)


@operator
def triangle_turned(script: Script) -> Iterator[tuple[Edit, ...]]:
    """Of a triangle with the diagonal."""
    for node, old, strict in _triangles(script):
        if not strict:
            yield (_renamed(script, node, old),)


def _triangles(script: Script) -> Iterator[tuple[ast.Call, str, bool]]:
    for node in script.all(ast.Call):
        if called(node, "tril", "triu"):
            numbers = [item for item in node.args if isinstance(item, (ast.Constant, ast.UnaryOp))]
            found = keyword(node, "diagonal")
            place = script.of(found.value if found is not None else numbers[0]) if found or numbers else "0"
            yield node, name_of(node.func), place != "0"


def _renamed(script: Script, node: ast.Call, old: str) -> Edit:
    end = script.span(node.func)[1]
    return end - len(old), end, "triu" if old == "tril" else "tril"


@operator
def diagonal_moved(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        if not called(node, "tril", "triu"):
            continue
        method = isinstance(node.func, ast.Attribute) and name_of(node.func.value) != "torch"
        numbers = [item for item in node.args if isinstance(item, (ast.Constant, ast.UnaryOp))]
        found = keyword(node, "diagonal")
        place = found.value if found is not None else numbers[0] if numbers else None
        if place is None:
            inner = "" if method else script.of(node.args[0]) + ", " if node.args else ""
            for other in ("1", "-1"):
                yield (script.put(node, f"{script.of(node.func)}({inner}{other})"),)
        elif re.fullmatch(r"-?\d+", script.of(place)):
            for step in (-1, 1):
                yield (script.put(place, str(int(script.of(place)) + step)),)


@operator
def fill_too_small(script: Script) -> Iterator[tuple[Edit, ...]]:
    for _, _, _, fill in masked(script):
        for other in ("0.0", "-1e-9", "1e-9"):
            yield (script.put(fill, other),)


@operator
def mask_multiplied(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node, scores, mask, _ in masked(script):
        if called(node, "masked_fill"):
            yield (script.put(node, f"{_part(script, scores)} * ({_opposite(script, mask)})"),)


@operator
def mask_added(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node, scores, mask, _ in masked(script):
        if called(node, "masked_fill"):
            yield (script.put(node, f"{_part(script, scores)} + ({_opposite(script, mask)})"),)


@operator
def mask_after_softmax(script: Script) -> Iterator[tuple[Edit, ...]]:
    """The mask is moved past the softmax that follows it."""
    for node, scores, mask, _ in masked(script):
        statement = script.within(node, ast.stmt)
        for other in script.all(ast.Call):
            if _softened(other) is None or script.span(other)[0] < script.span(scores)[0]:
                continue
            inside = script.span(other)[0] <= script.span(node)[0] < script.span(other)[1]
            late = f".masked_fill({script.of(mask)}, 0.0)"
            if inside:
                yield (script.put(other, script.of(other).replace(script.of(node), script.of(scores)) + late),)
            elif script.within(other, ast.FunctionDef) is script.within(node, ast.FunctionDef) and statement:
                yield script.put(node, script.of(scores)), script.put(other, script.of(other) + late)
            break


@operator
def masks_joined_otherwise(script: Script) -> Iterator[tuple[Edit, ...]]:
    yield from (edits for kind, edits in _joined(script) if kind == "masks")


@operator
def pattern_changed(script: Script) -> Iterator[tuple[Edit, ...]]:
    yield from (edits for kind, edits in _joined(script) if kind == "pattern")


@operator
def prompt_for_padding(script: Script) -> Iterator[tuple[Edit, ...]]:
    yield from (edits for kind, edits in _joined(script) if kind == "prompt")


def _joined(script: Script) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """Each `&` of masks as `|`, and the other way about, and what is joined there."""
    for node in script.all(ast.BinOp):
        if not isinstance(node.op, (ast.BitAnd, ast.BitOr)):
            continue
        either = isinstance(node.op, ast.BitOr)
        inner = [side.value if isinstance(side, ast.Subscript) else side for side in (node.left, node.right)]
        sides = [script.of(side) for side in (node.left, node.right)]
        sides += [script.of(resolved(script, side)) for side in inner if isinstance(side, ast.Name)]
        kind = "masks"
        if any(_PAIRS.search(side) for side in sides) or (either and any(_CHOSEN.fullmatch(side) for side in sides)):
            kind = "pattern"
        elif either and any(_WITHIN.search(side) for side in sides):
            kind = "prompt"
        start = script.span(node.left)[1]
        at = start + script.text[start : script.span(node.right)[0]].index("|" if either else "&")
        yield kind, ((at, at + 1, "&" if either else "|"),)


# Each of a group with each of the same one; a token, all of its row or its column; what stands before a length.
_PAIRS = re.compile(r"(\w+)\[[^\]]*None[^\]]*\] == \1\[")
_CHOSEN = re.compile(r"\w+\[(:, None|None, :)\]")
_WITHIN = re.compile(r"arange\([^)]*\)(\[[^\]]*\])? < ")


@operator
def axis_of_a_mask_moved(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Subscript):
        parent = script.parents.get(node)
        distance = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Sub)
        if distance or not _MASKED.search(script.of(script.within(node, ast.stmt) or node)):
            continue
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        texts = [script.of(item) for item in items]
        if "None" in texts and set(texts) <= {"None", ":", "..."}:
            for one, two in pairwise(items):
                if script.of(one) != script.of(two):
                    yield script.put(one, script.of(two)), script.put(two, script.of(one))
    for node in script.all(ast.Call):
        masks = _MASKED.search(script.of(script.within(node, ast.stmt) or node))
        if masks and called(node, "unsqueeze") and node.args and re.fullmatch(r"-?\d", script.of(node.args[0])):
            for other in ("0", "1", "2", "-1"):
                if other != script.of(node.args[0]):
                    yield (script.put(node.args[0], other),)


# -- positions ---------------------------------------------------------------------------------------------------


@operator
def positions_on_another_axis(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Subscript):
        text = script.of(node)
        cut = isinstance(node.slice, ast.Tuple) and any(
            isinstance(item, ast.Slice) and item.upper for item in node.slice.elts
        )
        if cut and re.match(r"(self\.)?(pe|pos\w*|wpe)\[", text):
            yield (script.put(node.slice, ", ".join(script.of(item) for item in reversed(node.slice.elts))),)
    for node in script.all(ast.Call):
        if re.match(r"(self\.)?(pe|pos\w*|wpe)$", script.of(node.func)) and called(
            node.args[0] if node.args else node, "arange"
        ):
            inner = node.args[0]
            for old, new in (("1", "0"), ("-2", "0"), ("-2", "-3")):
                found = re.search(rf"(size\(|shape\[){old}([\])])", script.of(inner))
                if found:
                    moved = script.of(inner).replace(found.group(0), found.group(1) + new + found.group(2))
                    yield (script.put(node, f"{script.of(node.func)}({moved})[:, None]"),)


@operator
def frequencies_changed(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        in_twos = called(node, "arange") and len(node.args) == 3 and script.of(node.args[2]) == "2"
        if in_twos and not _decays(script, node):
            yield (script.put(node, f"{script.of(node.func)}({script.of(node.args[1])} // 2)"),)
    for node in script.all(ast.UnaryOp):
        if isinstance(node.op, ast.USub) and called(node.operand, "log"):
            yield (script.put(node, script.of(node.operand)),)


@operator
def decay_changed(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        if called(node, "arange") and len(node.args) == 3 and _decays(script, node):
            yield (script.put(node, f"{script.of(node.func)}({script.of(node.args[1])} // 2)"),)


def _decays(script: Script, node: ast.Call) -> bool:
    """Whether something is added to the numbers of features, as xPos does; the exponent of a rate has nothing added."""
    parent = script.parents.get(node)
    return isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add)


@operator
def only_one_side_turned(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        turns = re.search(r"rot|rope", name_of(node.func)) and "half" not in name_of(node.func)
        several = isinstance(script.parents.get(node), ast.Assign) and "," in script.of(script.parents[node].targets[0])  # type: ignore[attr-defined]
        part = isinstance(script.parents.get(node), ast.BinOp)  # of the formula of a rotation
        if turns and not several and not part and node.args and isinstance(node.args[0], (ast.Name, ast.Call)):
            yield (script.put(node, script.of(node.args[0])),)


@operator
def rotation_mixed(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        if called(node, "repeat_interleave") and node.args and "cat" not in script.of(node):
            inner = script.of(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            if script.of(node.args[0]) == "2" and inner:
                yield (script.put(node, f"torch.cat([{inner}, {inner}], dim=-1)"),)


# -- blocks, modes -----------------------------------------------------------------------------------------------


@operator
def dropout_always(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.Call):
        if called(node, "dropout") and (found := keyword(node, "training")) is not None:
            yield (script.put(found.value, "True"),)
        if called(node, "scaled_dot_product_attention") and (found := keyword(node, "dropout_p")) is not None:
            text = script.of(found.value)
            if isinstance(found.value, ast.IfExp):
                yield (script.put(found.value, script.of(found.value.body)),)
            elif text in ("0", "0.0"):
                yield (script.put(found.value, "0.1"),)


@operator
def residual_of_the_normed(script: Script) -> Iterator[tuple[Edit, ...]]:
    for node in script.all(ast.BinOp):
        if isinstance(node.op, ast.Add) and isinstance(node.left, ast.Name) and isinstance(node.right, ast.Call):
            for inner in ast.walk(node.right):
                norm = isinstance(inner, ast.Call) and re.search(r"norm|ln", name_of(inner.func))
                if norm and [script.of(item) for item in inner.args] == [node.left.id]:  # type: ignore[attr-defined]
                    yield script.put(node.left, f"(normed := {script.of(inner)})"), script.put(inner, "normed")


def _part(script: Script, node: ast.expr) -> str:
    """The text of a node as an operand."""
    text = script.of(node)
    return text if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Constant, ast.Subscript)) else f"({text})"


def _with(script: Script, node: ast.Call, name: str, value: str) -> Edit:
    """The call with one more argument by name, or another value for it."""
    found = keyword(node, name)
    if found is not None:
        return script.put(found.value, value)
    end = script.span(node)[1]
    before = script.text[: end - 1].rstrip()
    comma = "" if before.endswith(("(", ",")) else ", "
    return end - 1, end - 1, f"{comma}{name}={value}"
