"""`relay` in the simulator: `engine`, and `boards` with what they hold and send."""
