"""The formula of an attention as its code has it: with the scale that was used, a mask only if there is one."""

from __future__ import annotations

from math import isclose, sqrt

from attnlab.attention import Attention
from attnlab.explanation.data import Formula, Piece
from attnlab.explanation.sight import number


def formula(attention: Attention) -> Formula:
    """`softmax(QKᵀ/√d_k+M)V`, with what this attention has of it."""
    scores = (Piece("Q", "q"), Piece("Kᵀ", "k"))
    if attention.additive:
        around = "scores"
        scores = (Piece("w·tanh(", around), Piece("Q", "q"), Piece("+", around), Piece("K", "k"), Piece(")", around))
    pieces = [*scores, *_scale(attention)]
    if attention.cap:
        pieces = [Piece("c·tanh(", "cap"), *pieces, Piece("/c)", "cap")]
    if attention.bias:
        pieces.append(Piece("+b", "bias"))
    if any(not mask.late for mask in attention.masks):
        pieces.append(Piece("+M", "mask"))
    late = (Piece("⊙M", "late"),) if any(mask.late for mask in attention.masks) else ()
    return (Piece("softmax(", "softmax"), *pieces, Piece(")", "softmax"), *late, Piece("V", "v"))


def _scale(attention: Attention) -> tuple[Piece, ...]:
    factor = attention.factor
    if factor is None:
        return (Piece("·c", "scale"),) if attention.scale else ()
    if isclose(factor, 1.0) and not attention.scale:
        return ()
    root = root_of(factor)
    if root is not None:
        return (Piece(f"/√{'d_k' if root == attention.d_k else root}", "scale"),)
    return (Piece(f"·{number(factor)}", "scale"),)


def root_of(factor: float) -> int | None:
    """The whole number n of which the factor is 1/√n; None where there is none."""
    if not 0 < factor < 1:
        return None
    square = round(1 / factor**2)
    return square if isclose(factor, 1 / sqrt(square), rel_tol=1e-4) else None


def whole(attention: Attention) -> tuple[Formula, ...]:
    """The formulas that are shown at first: the attention, and how its heads come together."""
    many = attention.heads is not None and attention.heads > 1
    pieces = tuple(Piece(_spaced(piece, "_i" if many else ""), piece.key) for piece in formula(attention))
    if not many:
        return ((Piece("Attention(Q, K, V) = "), *pieces),)
    return (Piece("head_i = "), *pieces), (Piece("MultiHead(Q, K, V) = "), *merged(attention))


def _spaced(piece: Piece, index: str) -> str:
    """A piece with room around it, and with an index on Q, K and V."""
    texts = {
        "Q": f"Q{index}",
        "Kᵀ": f" K{index}ᵀ",
        "K": f"K{index}",
        "V": f" V{index}",
        "softmax(": "softmax( ",
        ")": " )",
    }
    if piece.text in texts and piece.key != "scores":
        return texts[piece.text]
    return f" {piece.text[0]} {piece.text[1:]}" if piece.text[0] in "/·+⊙" else piece.text


def merged(attention: Attention) -> Formula:
    """How the heads' outputs come together: side by side, then projected."""
    many = attention.heads is not None and attention.heads > 1
    start = Piece("[head_1…head_H]" if many else "Attention", "merge")
    projected = attention.project_out is not None or attention.style in ("mha", "layer")
    return (start, Piece(" W_O", "out")) if projected else (start,)
