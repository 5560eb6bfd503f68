"""mt-export: a run as a folder that another engine loads, written only once it is proved equal."""

import functools
import shutil
from pathlib import Path

from mt.api import translator_of_run
from mt.config.schema import ExportConfig
from mt.data.tokenizer import Tokenizer
from mt.errors import UserError
from mt.export.card import model_card
from mt.export.ctranslate2 import write_ctranslate2
from mt.export.folder import write_files, written_aside
from mt.export.huggingface import write_huggingface
from mt.export.proof import proof_sentences, prove_apart
from mt.export.search_settings import search_notes
from mt.export.supported import unsupported
from mt.export.vocabulary import OWN, Vocabularies, vocabularies_of_run
from mt.reporting import report
from mt.runs.folder import export_folder, load_run, tokenizer_paths

load_translator = functools.partial(translator_of_run, device="cpu")


def export(config: ExportConfig) -> None:
    """Write the folder aside, prove it, and rename it.

    Raises UserError for a run that the engine cannot represent and where the proof fails.
    """
    run_dir, quantization = Path(config.run_dir), config.quantization
    run = load_run(run_dir)
    if run.decoding.sampling is not None:
        raise UserError(f"{run_dir}: decoding.sampling cannot be exported; set it to null in the run's config.yaml")
    translator = load_translator(run_dir)
    if part := unsupported(translator.model):
        raise UserError(f"{run_dir}: the model cannot be exported: {part}")
    output = Path(config.output) if config.output else export_folder(run_dir, config.format)
    languages = run.data.source_language, run.data.target_language
    texts = proof_sentences(run_dir, config.sentences)
    paths = tokenizer_paths(run_dir, shared_vocab=run.tokenizer.shared_vocab)
    tokenizer_files = {name: path.read_bytes() for name, path in zip(("source.spm", "target.spm"), paths, strict=True)}
    prove = functools.partial(prove_apart, load=load_translator, engine=config.format, texts=texts)
    same_as_float32 = None
    with written_aside(output) as aside:
        if config.format == "huggingface":
            vocabularies = vocabularies_of_run(run_dir)
            write_huggingface(
                aside, translator=translator, decoding=run.decoding, vocabularies=vocabularies, languages=languages
            )
            write_files(aside, tokenizer_files)
            proof = prove(run_dir, aside, vocabularies=vocabularies)
            proof.refuse_failure("the folder that transformers loads")
        else:
            vocabularies = Vocabularies(OWN, *(Tokenizer.load(path).vocab_size for path in paths))
            write_ctranslate2(aside, translator=translator, decoding=run.decoding, quantization="float32")
            proof = prove(run_dir, aside, vocabularies=vocabularies)
            proof.refuse_failure("the folder that CTranslate2 loads")
            if quantization != "float32":
                shutil.rmtree(aside)
                aside.mkdir()
                write_ctranslate2(aside, translator=translator, decoding=run.decoding, quantization=quantization)
                same_as_float32 = prove(run_dir, aside, vocabularies=vocabularies).same_tokens
            write_files(aside, tokenizer_files)
        card = model_card(
            name=run.name,
            format=config.format,
            languages=languages,
            quantization=quantization,
            own_start=config.format == "huggingface" and vocabularies.special == OWN,
            proof=proof,
            same_as_float32=same_as_float32,
            search=search_notes(run.decoding),
        )
        write_files(aside, {"README.md": card.encode()})
    quantised = "" if same_as_float32 is None else f"; in {quantization} the same tokens in {same_as_float32:.2%}"
    report(f"{output}: {proof}{quantised}")
