"""Evidence: what relay is worth and what it may cost, held against limits and the simulator.

Run from a clone of the project: `python -m research NAME --help`. Not installed with the package.
"""
