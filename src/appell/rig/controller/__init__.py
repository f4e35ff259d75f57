"""The controller: homing, observer, safety, and what the arm is to do."""
