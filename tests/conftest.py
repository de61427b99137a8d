"""What all tests share: examples of properties are never timed, since machines differ."""

from hypothesis import settings

settings.register_profile("stepmill", deadline=None)
settings.load_profile("stepmill")
