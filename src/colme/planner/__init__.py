"""Before joining: does it pay, from how many samples on, by how much, at which epsilon?"""

from colme.planner.prediction import PAYS, Forecast, Otherwise, Point, forecast
from colme.planner.question import AlgorithmName, Question

__all__ = ["PAYS", "AlgorithmName", "Forecast", "Otherwise", "Point", "Question", "forecast"]
