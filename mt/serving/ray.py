"""The same application on many machines, by Ray Serve: `serve run mt.serving.ray:application run_dir=runs/mine`.

The options are those of mt-serve, where Ray's own do not say where it listens; `replicas=4` is their number.
"""

from typing import Any

import hydra
from omegaconf import OmegaConf
from ray import serve

from mt.config.loading import checked, configuration_folder
from mt.config.schema import ServeConfig
from mt.errors import UserError
from mt.serving.configured import application_of


def application(options: dict[str, str]) -> serve.Application:
    """What Ray runs: each replica is a process that loads the runs. Raises UserError for options that do not fit."""
    words = dict(options)
    replicas = words.pop("replicas", "2")
    if not replicas.isdecimal() or int(replicas) < 1:
        raise UserError(f"replicas: expected a number from 1 on; got {replicas}")
    with hydra.initialize_config_dir(str(configuration_folder()), version_base="1.3"):
        composed = hydra.compose("serve", overrides=[f"{key}={value}" for key, value in words.items()])
    values: Any = OmegaConf.to_container(composed, resolve=True)
    config = checked(ServeConfig, values)
    if config.run_dir is None:
        raise UserError("run_dir: which run? run_dir=runs/mine")
    replica = serve.ingress(lambda: application_of(config))(type("Translation", (), {}))
    return serve.deployment(replica, num_replicas=int(replicas)).bind()
