"""What is known of everybody's releases: records, passed on from neighbour to neighbour."""
