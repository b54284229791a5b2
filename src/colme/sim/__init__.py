"""Simulation: graphs, placements of agents in classes, and runs."""
