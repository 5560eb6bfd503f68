"""The other systems of the training benchmark, as one would use them; run by `mt-benchmark` in their environment.

Those are torch.nn.Transformer's layers and Hugging Face's MarianMTModel. Both have dropout where the paper has it
(after each sublayer and on the sums of embeddings and positions), tied embeddings, scaled dot-product attention by
torch's kernels, the fused Adam, and torch's label-smoothed cross-entropy.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from mt.benchmark.timed_training import BOS, EOS, PAD, TokenBatch, read_token_batches, timed_training
from mt.benchmark.worker import Answer, Handler, Request, serve, task_device, versions

_LONGEST = 1024


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
        padding = source == PAD
        length = target.shape[1]
        later = torch.ones(length, length, dtype=torch.bool, device=target.device).triu(1)
        memory = self.encoder(self._embed(source), src_key_padding_mask=padding)
        hidden = self.decoder(
            self._embed(target),
            memory,
            tgt_mask=later,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=padding,
        )
        return functional.linear(hidden, self.embedding.weight)


class MarianMT(nn.Module):
    """Hugging Face's MarianMTModel with the configuration of a fresh training."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        from transformers import MarianConfig, MarianMTModel  # torch's layers are measured without

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
            init_std=sizes.get("init_std", 0.02),
            use_cache=False,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
            forced_eos_token_id=EOS,
            decoder_start_token_id=BOS,
        )
        self.model = MarianMTModel(config)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits at every target position."""
        return self.model(
            input_ids=source,
            attention_mask=(source != PAD).long(),
            decoder_input_ids=target,
            decoder_attention_mask=(target != PAD).long(),
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
            ignore_index=PAD,
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
