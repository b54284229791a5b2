"""Studies of one's own data: would it have paid to learn together, for each site, and when?"""

from colme.studies.findings import Curve, SiteResult
from colme.studies.inquiry import Inquiry
from colme.studies.result import StudyResult
from colme.studies.runner import kept_in, work
from colme.studies.studying import answer, prepare, study

__all__ = [
    "Curve",
    "Inquiry",
    "SiteResult",
    "StudyResult",
    "answer",
    "kept_in",
    "prepare",
    "study",
    "work",
]
