"""`relay` in the simulator: everybody's releases, the boards that follow from hops, the answers.

What agents would hold at a round is computed without any message: a record of b is on a's board so
many rounds after its release as there are hops between them. Answers, the dear part, are those of
`colme.inference`, computed in recorded rounds alone, for some of the agents.
"""
