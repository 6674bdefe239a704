"""What a page shows of a Run, as plain data: code, the flow with its tensors, what is said of it in both languages.

scene = build(whole, axes, lang, bag, extras)

texts ──── a message in both languages ─────────────┐
codes ──── files, lines and exact spans ────────────┤
layout ─── a tensor as a stack of matrices ──┐      │
inside ─── what happens inside one call ─────┤      │
tensors ── each role of an attention ────────┼──────┼── build ── Scene
bounds ─── how much of them is kept ─────────┤      │
pictures ─ a stack as bytes ─────────────────┘      │
parts ──── which part makes which tensor ── told ───┘
bare ───── a run that computed nothing, without PyTorch
"""
