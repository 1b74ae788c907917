"""Hand-written backward passes in NumPy, and a checker that names the mistake."""
