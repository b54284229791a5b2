"""A page to play with: sliders, curves as they are computed, and a network of real agents.

`server` (ExplorerServer) serves it; `choices` are what a visitor may choose.
"""
