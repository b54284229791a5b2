"""What an agent may conclude from all releases: a prior learned from them, and an answer.

- `answers.posterior`: one owner's answer from records, the public function; `answers.answers`: many
  owners' answers from arrays, and how it works.
- `mixture.fit` learns the prior, by EM; `posterior.moments` uses it.
- `robust`: statistics that few dishonest agents can't move. `obstacles`: why an answer is alone.
- `tuning`: every number that was chosen, with its reason. `compiled`: numba, if it is in use.
"""
