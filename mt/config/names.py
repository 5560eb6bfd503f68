"""The option that was probably meant by a name that does not exist: misspelt, or the name in another toolkit."""

import difflib
from collections.abc import Sequence

from mt.errors import UserError

# Each option and its names in fairseq, OpenNMT, Hugging Face, Marian NMT and PyTorch.
_ELSEWHERE = {
    "training.learning_rate": "lr learning_rate lrate max_lr peak_lr",
    "training.max_steps": "epochs epoch max_epochs max_epoch num_epochs num_train_epochs train_steps max_update "
    "after_batches after_epochs",
    "training.batch_tokens": "batch_size batch max_tokens mini_batch mini_batch_words per_device_train_batch_size",
    "training.micro_batch_tokens": "gradient_accumulation_steps update_freq accum_count accumulate_grad_batches "
    "micro_batch_size optimizer_delay",
    "training.warmup_steps": "warmup warmup_updates num_warmup_steps lr_warmup",
    "training.decay_fraction": "cooldown lr_decay",
    "training.fsdp": "sharding zero deepspeed",
    "training.patience": "early_stopping early_stopping_patience",
    "training.precision": "fp16 bf16 amp mixed_precision dtype",
    "training.keep_checkpoints": "save_total_limit keep_last_epochs keep_interval_updates",
    "training.validate_every_steps": "eval_steps valid_steps valid_freq validate_interval_updates",
    "training.checkpoint_every_steps": "save_steps save_freq save_interval_updates save_checkpoint_steps",
    "training.log_every_steps": "logging_steps log_interval disp_freq report_every",
    "model.num_layers": "n_layers layers depth enc_layers encoder_layers enc_depth num_hidden_layers",
    "model.d_model": "hidden_size hidden dim model_dim dim_emb embedding_dim n_embd",
    "model.d_ff": "ffn ffn_dim dim_feedforward ffn_embed_dim intermediate_size transformer_ff",
    "model.num_heads": "n_heads heads nhead attention_heads num_attention_heads transformer_heads",
    "tokenizer.vocab_size": "vocab vocabulary_size bpe_size num_merges",
    "tokenizer.shared_vocab": "joint share_vocab joined_dictionary",
    "decoding.beam_size": "beam beams num_beams beam_width",
    "decoding.length_penalty": "lenpen alpha normalize",
    "decoding.max_output_tokens": "max_new_tokens max_length max_len max_decoding_length",
    "decoding.min_output_tokens": "min_new_tokens min_length min_len",
    "n_best": "nbest num_return_sequences",
    "target_prefix": "prefix prefix_size",
    "finetune_from": "initialise_from finetune pretrained_model train_from init_from restore_file",
    "run_dir": "output_dir save_dir model_dir checkpoint_dir model_path",
    "device": "gpu gpus cuda cpu no_cuda",
    "seed": "random_seed manual_seed",
    "source": "src sentence text",
    "input": "input_file src_file",
    "output": "output_file out",
    "reference": "ref references",
    "hypothesis": "hyp hypotheses",
    "data.train": "train_file train_data trainpref train_sets",
    "data.validation": "valid validation_file validpref dev eval_data valid_sets",
    "data.test": "test_file testpref",
    "data.source_language": "src source_lang src_lang",
    "data.target_language": "tgt trg target_lang tgt_lang trg_lang",
}


def unknown_option(key: str, options: Sequence[str]) -> UserError:
    """The error for a key that is not an option, with the option that was probably meant."""
    return UserError(f"unknown option {key}; did you mean {_named(key, options) or _most_similar(key, options)}?")


def unknown_flag(flag: str, options: Sequence[str]) -> UserError:
    """The error for a flag that does not exist, with the option of that name where there is one."""
    named = _named(flag.lstrip("-").partition("=")[0], options)
    meant = f"; did you mean {named}=…?" if named else ""
    return UserError(f"unknown flag {flag.partition('=')[0]}; options are written key=value{meant}")


def unknown_choice(group: str, name: str, choices: Sequence[str]) -> UserError:
    """The error for a file that a group of `conf/` does not have."""
    near = [choice for choice in choices if name and choice.startswith(name)] or difflib.get_close_matches(
        name, choices
    )
    advice = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(choices)}"
    return UserError(f"{group}={name} does not exist; {advice}")


def _named(key: str, options: Sequence[str]) -> str | None:
    """The option that has this name, in this program or elsewhere; the name may lack its groups or have wrong ones."""
    word = key.replace("-", "_").lower()
    last = word.rpartition(".")[2]
    meant = [word, *(option for option, others in _ELSEWHERE.items() if last in others.split())]
    for fits in (str.__eq__, _ends_alike):
        for name in meant:
            for option in options:
                if fits(option, name):
                    return option
    return None


def _ends_alike(option: str, name: str) -> bool:
    return f".{option}".endswith(f".{name}") or f".{name}".endswith(f".{option}")


def _most_similar(key: str, options: Sequence[str]) -> str:
    def likeness(option: str) -> float:
        whole = difflib.SequenceMatcher(None, key, option).ratio()
        last = difflib.SequenceMatcher(None, key.rpartition(".")[2], option.rpartition(".")[2]).ratio()
        return max(whole, 0.99 * last)

    return max(options, key=likeness)
