"""Names that help lists and shells complete, written out: help imports nothing heavy. A test holds
them to the tables that they come from."""

PAPERS = ("valera2003", "mata2002", "lee1982", "shafei2018", "abedloo2014")
QUANTITIES = (
    "inverse_dynamics", "forward_dynamics", "generalised_forces", "mass_matrix",
    "coriolis_matrix", "gravity", "bias", "friction", "springs", "kinetic_energy",
    "potential_energy", "gibbs_function", "regressor", "regressor_with_friction",
    "regressor_with_rotors", "regressor_with_rotors_and_friction", "forward_kinematics", "poses",
    "jacobian", "jacobian_rate", "velocity", "acceleration", "spatial_acceleration",
    "inverse_mass_matrix", "operational_inertia", "operational_mobility", "centre_of_mass",
    "centre_of_mass_jacobian", "centre_of_mass_velocity", "subtree_centre_of_mass",
    "subtree_centre_of_mass_jacobian", "subtree_centre_of_mass_velocity", "momentum",
    "momentum_rate", "momentum_matrix", "momentum_matrix_rate", "joint_wrenches", "base_wrench",
    "momentum_regressor", "kinetic_energy_regressor", "potential_energy_regressor",
    "body_regressor", "inverse_dynamics_derivatives", "generalised_forces_derivatives",
    "forward_dynamics_derivatives",
)  # fmt: skip
FORMULATIONS = (
    "gibbs_lean", "gibbs_tensor", "gibbs_vector", "gibbs_vector_paul", "newton_euler",
    "lagrange_euler", "gibbs_tree", "composite_body", "articulated_body", "composite", "body",
    "momentum", "joints", "bodies",
)  # fmt: skip
METHODS = ("qr", "svd", "pinv", "ridge", "wls", "irls", "tls", "sdp", "log_cholesky")
DTYPES = ("float64", "float32")
CHANNELS = ("shm", "udp", "lockstep")
LAWS = (
    "tracking-integral", "tracking", "point-to-point", "computed-torque", "pd-gravity",
    "feedforward", "sliding-mode", "adaptive", "joint-impedance", "cartesian-impedance",
)  # fmt: skip
CLOSED = (
    "four_bar", "five_bar", "planar_3rrr", "delta", "stewart_gough", "differential_drive",
    "rolling_disc", "snakeboard",
)  # fmt: skip
TASKS = ("line", "circle", "moves", "via", "hold", "torque", "fall")
TARGETS = ("c", "aarch64", "cortex-m7", "riscv64", "riscv32", "x86-64")
KINDS = ("fourier", "spline")
CRITERIA = ("condition", "d_optimal")
