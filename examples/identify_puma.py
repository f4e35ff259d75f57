"""A PUMA identified on the simulated rig, from an excitation to a controller that tracks better."""

import numpy as np

import appell
from appell import identify, rig
from appell.control import ComputedTorque, TrackingIntegral, quintic

# The arm there is: a load that the model does not know, and the rig's own friction.
nominal = appell.load("puma560")
true = nominal.with_payload(1.5, (0, 0, 0.08))
machine = rig.puma560_machine()

# A motion that excites all parameters, friction included; a short search will do here.
room = np.radians(15)
motion = identify.excite(
    nominal,
    duration=4.0,
    harmonics=4,
    position=(machine.lower + room, machine.upper - room),
    speed=0.6 * machine.speed,
    acceleration=8.0,
    torque=0.6 * machine.torque,
    workspace=identify.HalfSpace("link6", (0, 0, 1), -0.6, (0, 0, 0.1)),  # above the floor
    friction=True,
    starts=1,
    iterations=10,
    random=10,
)
print(motion)

# Run in closed loop; what is seen are encoders and torques.
follow = TrackingIntegral(nominal, kp=1200, kd=60, ki=8000)
report = rig.run(follow, motion, machine=machine, robot=true, rest=0.0)
data = identify.observe(nominal, report.log)
print(data)

# Estimates that bodies can have.
fit = identify.fit(nominal, data, method="sdp", friction=True)

# Another motion under computed torque, with either model: the same law and gains, on the same rig.
start = np.radians([0, -60, 90, 0, 30, 0])
other = quintic(start, start + [0.8, -0.6, 0.7, 1.0, -0.9, 1.5], 1.5)
runs = {
    name: rig.run(
        ComputedTorque(robot, kp=400, kd=40), other, machine=machine, robot=true, rest=0.0
    )
    for name, robot in (("nominal", nominal), ("identified", fit.robot))
}
for name, run in runs.items():
    error = (run.log["qd"] - run.log["q"])[run.log["phase"] == 3]
    print(f"{name}: rms tracking error {1e3 * np.sqrt(np.mean(error**2)):.2f} mrad")

# Its torques were not used for the estimate: are they foretold?
found = identify.validate(fit, identify.observe(nominal, runs["nominal"].log))
print(f"torque error by joint, nominal:    {found.nominal.rms.round(3)} N m")
print(f"torque error by joint, identified: {found.errors.rms.round(3)} N m")

path = fit.robot.to_urdf("identified_puma.urdf")
print(f"written: {path}")
