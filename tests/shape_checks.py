"""The checker that tests put around every function of the package."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))  # an int serves where a float is asked for
