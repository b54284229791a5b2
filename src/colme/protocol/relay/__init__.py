"""Boards that neighbours keep alike: everybody's releases reach everybody."""
