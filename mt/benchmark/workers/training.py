"""The training benchmark: what every system is asked, and the other systems, as one would use them.

Those are torch.nn.Transformer's layers and Hugging Face's MarianMTModel. Both have dropout where the paper has it
(after each sublayer and on the sums of embeddings and positions), tied embeddings, scaled dot-product attention by
torch's kernels, the fused Adam, and torch's label-smoothed cross-entropy.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from mt.benchmark.workers.worker import Answer, Handler, Request, measured, serve, task_device, versions

_PAD, _BOS, _EOS = 0, 2, 3
_LONGEST = 1024

Batch = TypeVar("Batch")


class TokenBatch(NamedTuple):
    """Padded ids (batch, length), the same for every system; source and output end in EOS, input begins with BOS."""

    source: Tensor
    target_input: Tensor
    target_output: Tensor

    @property
    def tokens(self) -> int:
        """Real ones of source and target."""
        return int((self.source != _PAD).sum() + (self.target_output != _PAD).sum())

    def flop(self, *, num_layers: int, d_model: int, d_ff: int, vocab_size: int) -> float:
        """Floating-point operations of a step by the formulas of section 3: three forward passes.

        A multiplication with its addition counts as two. Only matrix products of real tokens count, and in the
        decoder's self-attention only what its mask allows.
        """
        source, target = ((ids != _PAD).sum(1).double() for ids in (self.source, self.target_output))
        matrix, feed_forward = 2.0 * d_model * d_model, 4.0 * d_model * d_ff
        encoder = source.sum() * (4 * matrix + feed_forward) + 4 * d_model * (source * source).sum()
        decoder = target.sum() * (6 * matrix + feed_forward) + 2 * matrix * source.sum()
        decoder += 4 * d_model * ((target * (target + 1) / 2).sum() + (source * target).sum())
        return float(3 * (num_layers * (encoder + decoder) + 2.0 * d_model * vocab_size * target.sum()))


def read_token_batches(path: str, *, pin: bool = False) -> list[TokenBatch]:
    """The batches of a task, which are saved as plain tuples; in page-locked memory with `pin`."""
    batches = torch.load(path)
    return [TokenBatch(*(tensor.pin_memory() if pin else tensor for tensor in batch)) for batch in batches]


def timed_training(step: Callable[[Batch, torch.dtype], Any], batches: Sequence[Batch], task: Request) -> Handler:
    """Answer requests with `precision` by a round: a step for each batch.

    The answer has the seconds and peak memory of the round, its real tokens, their arithmetic over the best matrix
    product measured after it, and the loss per target token that the last step returned.
    """
    counted = read_token_batches(task["batches"])
    sizes = {name: task["sizes"][name] for name in ("num_layers", "d_model", "d_ff", "vocab_size")}
    tokens, flop = sum(batch.tokens for batch in counted), sum(batch.flop(**sizes) for batch in counted)

    def answer(request: Request) -> Answer:
        precision = {"fp32": torch.float32, "bf16": torch.bfloat16}[request["precision"]]
        losses: list[Any] = []
        device = torch.device(task["device"])
        figures = measured(lambda: losses.extend(step(batch, precision) for batch in batches), device)
        mfu = flop / figures["seconds"] / best_product(device, precision)
        return {**figures, "tokens": tokens, "mfu": mfu, "loss": float(losses[-1])}

    return answer


def best_product(device: torch.device, precision: torch.dtype) -> float:
    """Floating-point operations per second of the fastest of some products of two large matrices."""
    size = 8192 if device.type == "cuda" else 2048
    left, right = torch.randn(2, size, size, device=device).to(precision)
    out = torch.empty_like(left)

    def product() -> None:
        torch.mm(left, right, out=out)

    return 2 * size**3 / min(measured(product, device)["seconds"] for _ in range(8))


class TorchTransformer(nn.Module):
    """Torch's encoder and decoder layers between an embedding and its transpose."""

    positions: Tensor

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        d_model, dropout = sizes["d_model"], sizes["dropout"]
        layer = {"d_model": d_model, "nhead": sizes["num_heads"], "dim_feedforward": sizes["d_ff"]}
        layer |= {"dropout": dropout, "batch_first": True}
        self.embedding = nn.Embedding(sizes["vocab_size"], d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.dropout = nn.Dropout(dropout)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**layer), sizes["num_layers"], enable_nested_tensor=False
        )
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**layer), sizes["num_layers"])
        position = torch.arange(_LONGEST).unsqueeze(1)
        angle = position * torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        self.register_buffer("positions", torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1))
        for module in self.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0  # inside the feed-forward network

    def _embed(self, tokens: Tensor) -> Tensor:
        scaled = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(scaled + self.positions[: tokens.shape[1]])

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits at every target position."""
        padding = source == _PAD
        length = target.shape[1]
        later = torch.ones(length, length, dtype=torch.bool, device=target.device).triu(1)
        memory = self.encoder(self._embed(source), src_key_padding_mask=padding)
        hidden = self.decoder(
            self._embed(target),
            memory,
            tgt_mask=later,
            tgt_key_padding_mask=target == _PAD,
            memory_key_padding_mask=padding,
        )
        return functional.linear(hidden, self.embedding.weight)


class MarianMT(nn.Module):
    """Hugging Face's MarianMTModel with the configuration of a fresh training."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        from transformers import MarianConfig, MarianMTModel  # noqa: PLC0415  torch's layers are measured without

        sides = ("encoder", "decoder")
        config = MarianConfig(
            vocab_size=sizes["vocab_size"],
            max_position_embeddings=_LONGEST,
            **{f"{side}_layers": sizes["num_layers"] for side in sides},
            **{f"{side}_ffn_dim": sizes["d_ff"] for side in sides},
            **{f"{side}_attention_heads": sizes["num_heads"] for side in sides},
            d_model=sizes["d_model"],
            dropout=sizes["dropout"],
            attention_dropout=0.0,
            activation_dropout=0.0,
            activation_function="relu",
            scale_embedding=True,
            use_cache=False,
            pad_token_id=_PAD,
            bos_token_id=_BOS,
            eos_token_id=_EOS,
            forced_eos_token_id=_EOS,
            decoder_start_token_id=_BOS,
        )
        self.model = MarianMTModel(config)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits at every target position."""
        return self.model(
            input_ids=source,
            attention_mask=(source != _PAD).long(),
            decoder_input_ids=target,
            decoder_attention_mask=(target != _PAD).long(),
        ).logits


def prepare(task: Request) -> tuple[Answer, Handler]:
    """Take `system`, whether it is `compiled`, `sizes`, `batches`, `label_smoothing` and `device` from the task."""
    torch.manual_seed(1)
    device = task_device(task)
    model = {"torch": TorchTransformer, "hf_marian": MarianMT}[task["system"]](task["sizes"]).to(device).train()
    forward: Callable[[Tensor, Tensor], Tensor] = torch.compile(model) if task["compiled"] else model
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def step(batch: TokenBatch, precision: torch.dtype) -> Tensor:
        source, target, labels = (tensor.to(device, non_blocking=True) for tensor in batch)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == torch.bfloat16):
            logits = forward(source, target)
        loss = functional.cross_entropy(
            logits.float().flatten(0, 1),
            labels.flatten(),
            ignore_index=_PAD,
            label_smoothing=task["label_smoothing"],
        )
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    packages = ("torch", "transformers") if task["system"] == "hf_marian" else ("torch",)
    parameters = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    handler = timed_training(step, read_token_batches(task["batches"], pin=device.type == "cuda"), task)
    return {**versions(*packages), "parameters": parameters}, handler


if __name__ == "__main__":
    serve(prepare)
