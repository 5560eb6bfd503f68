"""mt-export: a run as a folder that another engine loads, written only once it is proved equal."""

import functools
import shutil
from pathlib import Path

from mt.api import model_and_translator
from mt.config.schema import ExportConfig
from mt.errors import UserError
from mt.export.card import model_card
from mt.export.ctranslate2 import CTranslate2Engine, write_ctranslate2
from mt.export.folder import written_aside
from mt.export.huggingface import HuggingFaceEngine, write_huggingface
from mt.export.proof import proof_sentences, prove
from mt.export.vocabulary import OWN, Vocabularies, vocabularies_of_run
from mt.model.inspection import unknown_part
from mt.model.transformer import Transformer
from mt.reporting import report
from mt.runs.folder import CARD, export_folder, load_run, tokenizer_paths


def export(config: ExportConfig) -> None:
    """Write the folder aside, prove it, and rename it.

    Raises UserError for a run that the engine cannot represent and where the proof fails.
    """
    run_dir = Path(config.run_dir)
    run = load_run(run_dir)
    model, translator = model_and_translator(run_dir)
    if part := unknown_part(model):
        raise UserError(
            f"{run_dir}: the model cannot be exported: {part}: only post-norm residuals, sinusoidal positions, relu or "
            "swish and tied target embeddings can be exported"
        )
    assert isinstance(model, Transformer)
    tokenizers = translator.source_tokenizer, translator.target_tokenizer
    compare = functools.partial(prove, model, translator, texts=proof_sentences(run_dir, config.sentences))
    output = Path(config.output) if config.output else export_folder(run_dir, config.format)
    with written_aside(output) as aside:
        report(f"{run_dir}: writing it for {config.format}, then comparing what {config.format} computes of it")
        if config.format == "huggingface":
            vocabularies = vocabularies_of_run(run_dir, tokenizers)
            write_huggingface(aside, run=run, model=model, translator=translator, vocabularies=vocabularies)
        else:
            vocabularies = Vocabularies(OWN, *(tokenizer.vocab_size for tokenizer in tokenizers))
            write_ctranslate2(aside, run=run, model=model, translator=translator, quantization="float32")
        paths = tokenizer_paths(run_dir, shared_vocab=run.tokenizer.shared_vocab)
        for name, path in zip(("source.spm", "target.spm"), paths, strict=True):
            shutil.copyfile(path, aside / name)
        engine = HuggingFaceEngine(aside) if config.format == "huggingface" else CTranslate2Engine(aside, translator)
        proof = compare(engine, vocabularies=vocabularies)
        proof.check(f"the folder written for {config.format}")
        proved = str(proof)
        if config.quantization != "float32":
            write_ctranslate2(aside, run=run, model=model, translator=translator, quantization=config.quantization)
            quantised = compare(CTranslate2Engine(aside, translator), vocabularies=vocabularies)
            proved += f"; in {config.quantization} the same tokens in {quantised.same['tokens']:.2%}"
        (aside / CARD).write_bytes(model_card(run, config, proof=proved, run_dir=run_dir).encode(errors="replace"))
    report(f"{output}: {proved}")
