"""Findings as text for a person, as JSON, as SARIF, and as commands of a GitHub workflow."""
