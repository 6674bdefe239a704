"""Answers to questions about a program: each is an experiment with it, told in blocks of plain data."""
