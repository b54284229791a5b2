"""Sessions with neighbours: who calls, who is let in, what is said and what is heard."""

from colme.node.session.admission import Admission
from colme.node.session.agreement import Agreement
from colme.node.session.neighbourhood import Acquaintance, Neighbourhood
from colme.node.session.rehearsal import Finding, check

__all__ = ["Acquaintance", "Admission", "Agreement", "Finding", "Neighbourhood", "check"]
