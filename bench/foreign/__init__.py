"""Attention that others wrote and that is right: one file a library, each with its cases."""
