"""Where a node's samples come from."""

from colme.node.samples.feeds import Feed, Synthetic, make_feed, make_noise
from colme.node.samples.first_lines import FirstLines, first_marks

__all__ = ["Feed", "FirstLines", "Synthetic", "first_marks", "make_feed", "make_noise"]
