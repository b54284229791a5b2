"""Where a node's samples come from: `feeds` (Feed, Synthetic, make_feed) and `first_lines`."""
