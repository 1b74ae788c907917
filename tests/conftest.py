"""Settings every test shares: the same examples on every run and every machine."""

from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# For `make mutants`: few examples, and a failure is enough, it need not be explained.
settings.register_profile(
    "mutants",
    settings.get_profile("repeatable"),
    max_examples=10,
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile("repeatable")
