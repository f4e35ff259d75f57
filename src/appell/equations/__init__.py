"""The physics: one formulation a file, each citing its paper and equation numbers.

These functions take one position per body's joint. Of a robot whose frames are turned, whose joints
mimic others or stand in another order, or whose base is free, these are not its coordinates:
``robot.equation(...)`` gives the equation in the robot's own.
"""
