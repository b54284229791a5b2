"""Scenarios that have a name, and the studies behind each figure."""
