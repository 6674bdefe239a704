"""Mutation: what a slip of the hand makes of a right script, and whether `check` sees it."""
