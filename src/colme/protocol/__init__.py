"""The agent as a pure state machine: no clock, no sockets, no files, no randomness of its own."""
