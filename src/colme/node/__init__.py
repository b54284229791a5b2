"""The agent as a network daemon: durable state, mutual TLS, real neighbours."""
