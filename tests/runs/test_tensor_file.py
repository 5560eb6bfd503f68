"""Files that the safetensors library reads as what was written."""

import safetensors.torch
import torch

from mt.runs.checkpoint import tensor_parts


def test_the_library_reads_what_was_written() -> None:
    generator = torch.Generator().manual_seed(0)
    tensors = {
        "large": torch.randn(700, 800, generator=generator),
        "small": torch.randn(3, 5, generator=generator),
        "another large": torch.randn(1 << 18, generator=generator),
        "scalar": torch.tensor(7.0),
        "double": torch.randn(2, 2, generator=generator, dtype=torch.float64),
        "half": torch.randn(3, generator=generator).to(torch.bfloat16),
        "empty": torch.empty(0, 4),
        "whole numbers": torch.arange(5),
        'a "quoted" name, größer': torch.ones(1),
    }
    parts = tensor_parts(tensors)
    read = safetensors.torch.load(b"".join(parts))
    assert read.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert read[name].dtype == tensor.dtype
        assert torch.equal(read[name], tensor), name
    assert any(part.nbytes == tensors["large"].nbytes for part in parts)  # the large ones where they were


def test_no_tensors_are_a_file_too() -> None:
    assert safetensors.torch.load(b"".join(tensor_parts({}))) == {}
