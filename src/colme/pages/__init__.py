"""What all pages share: looks, curves, libraries that are not ours, and what a browser may do.

`assets` has all of it.
"""
