"""Each command and the class of its options."""

from typing import Any

from mt.config.measurements import BenchmarkConfig, BenchmarkDecodeConfig, SweepConfig
from mt.config.schema import (
    AttentionConfig,
    AverageConfig,
    CompareConfig,
    EvaluateConfig,
    ExportConfig,
    GenerateConfig,
    ImportConfig,
    InspectConfig,
    ServeConfig,
    TrainConfig,
    TranslateConfig,
)

COMMANDS: dict[str, Any] = {
    "train": TrainConfig,
    "translate": TranslateConfig,
    "generate": GenerateConfig,
    "serve": ServeConfig,
    "evaluate": EvaluateConfig,
    "average": AverageConfig,
    "compare": CompareConfig,
    "attention": AttentionConfig,
    "inspect": InspectConfig,
    "benchmark": BenchmarkConfig,
    "sweep": SweepConfig,
    "export": ExportConfig,
    "import": ImportConfig,
    "benchmark_decode": BenchmarkDecodeConfig,
}
