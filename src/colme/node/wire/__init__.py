"""What neighbours say to each other as bytes, and why it may not be taken: `codec`."""
