"""Deliberate breaks of what is promised, each with the tests that have to notice it.

`catalogue/` lists them, by what they break; `scripts/mutants` tries them. A mutant that survives is
a promise that nothing holds the code to.
"""
