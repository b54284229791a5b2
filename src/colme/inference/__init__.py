"""What an agent may conclude from everybody's releases: a prior learned from them, an answer."""
