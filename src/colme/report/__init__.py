"""Figures: results in, a matplotlib Figure out."""
