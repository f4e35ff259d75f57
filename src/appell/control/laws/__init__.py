"""Control laws: how joint forces follow from what is measured and desired."""
