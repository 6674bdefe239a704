"""Is it really attention? Rules, each decided by what the code does: data flow, axes and experiments.

found   what a rule is and what it finds      whole   a run and its tape on the bench
case    one attention on the bench            judge   all rules over a run
rules/  one rule a file
"""
