"""Studies of one's own data: would it have paid to learn together, for each site, and when?"""

from colme.studies.errands import ERRANDS, Errand
from colme.studies.outcome import Outcome
from colme.studies.question import Question
from colme.studies.result import Curve, SiteResult
from colme.studies.runner import work
from colme.studies.studying import answer, prepare, study

__all__ = [
    "ERRANDS",
    "Curve",
    "Errand",
    "Outcome",
    "Question",
    "SiteResult",
    "answer",
    "prepare",
    "study",
    "work",
]
