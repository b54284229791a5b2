"""A page to play with: sliders, curves, and a network of real agents."""
