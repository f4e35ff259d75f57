"""Simulation: flight, events, impacts and lasting contacts."""

from appell.maths.tableau import Tableau
from appell.simulation.contacts.impact import EnergyWarning, Impact
from appell.simulation.exceeded import Exceeded
from appell.simulation.run import Run
from appell.simulation.saved_run import load_run
from appell.simulation.simulate import simulate

__all__ = ["EnergyWarning", "Exceeded", "Impact", "Run", "Tableau", "load_run", "simulate"]
