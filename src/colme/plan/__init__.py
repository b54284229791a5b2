"""Before joining: does it pay, from how many samples on, by how much, at which epsilon?

- `question`: what a consortium knows before it begins (`Question`)
- `forecast`: the answer (`forecast`, `Forecast`)
- `relay_forecast`: the expected error of relay, from boards that are drawn

The paper's own formulas are in `colme.theory`, below the simulator, which uses them too.
"""
