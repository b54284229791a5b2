"""The systems Private-C-ColME descends from, one small file each, all fed the same data."""
