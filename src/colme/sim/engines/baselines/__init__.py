"""The systems Private-C-ColME descends from, one small file each, all fed the same data."""

from colme.sim.engines.baselines.colme import ColmeTable
from colme.sim.engines.baselines.graph_colme import BColmeTable, CColmeTable
from colme.sim.engines.baselines.local_ideal import IdealTable, LocalTable
from colme.sim.engines.baselines.private_colme import PrivateColmeTable

BASELINES = (LocalTable, IdealTable, ColmeTable, CColmeTable, BColmeTable, PrivateColmeTable)
"""All of them, in the order in which they are listed."""
