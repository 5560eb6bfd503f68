#!/usr/bin/env bash
# All that needs a GPU, stage by stage: scripts/gpu.sh [tests] [base] [profile] [big] [train] [decode]; without a name all.
# Results go to $OUT (default docs/results/benchmarks). PYTHON names an interpreter with a CUDA build of torch and the
# dependencies (default .venv), SYSTEMS one with requirements-systems.txt (default .venv-systems, else PYTHON); what
# PYTHON lacks is installed from the wheels in .whl/, if there are any.
# OTHERS has the systems to compare with; compiled ones need minutes before their first round.
# DATA has the overrides that choose the corpus, as for mt-train (default: the built-in one).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PYTHON=$(command -v "${PYTHON:-$([ -x .venv/bin/python ] && echo .venv/bin/python || echo python3)}")
OUT=${OUT:-docs/results/benchmarks}
DATA=${DATA:-data=toy}
OTHERS=${OTHERS:-torch,torch_compiled,hf_marian,hf_marian_compiled}
SYSTEMS=${SYSTEMS:-$([ -x .venv-systems/bin/python ] && echo .venv-systems/bin/python || echo "$PYTHON")}
RUN=${RUN:-runs/gpu}
read -ra data <<<"$DATA"
failed=()

if compgen -G '.whl/*.whl' >/dev/null; then
    "$PYTHON" -m pip install --quiet --no-index --no-deps .whl/*.whl
fi
"$PYTHON" -c 'import torch; assert torch.cuda.is_available(); print(torch.__version__, torch.cuda.get_device_name())' \
    || { echo 'error: no GPU that torch can use' >&2; exit 2; }

stage() { # stage NAME COMMAND...: run, and continue after a failure
    echo "== $1"
    "${@:2}" || failed+=("$1")
}

speed() { # speed SIZE: ours against the other systems, 25,000 tokens a side as in the paper, 37,000 subwords
    "$PYTHON" scripts/benchmark.py "${data[@]}" "model=$1" "training=paper_$1" "name=$1" device=cuda "systems_python=$SYSTEMS" "output=$OUT" \
        "run_dir=$RUN/benchmark-$1" tokenizer.vocab_size=36992 'precisions=[bf16]' \
        "systems=[ours,$OTHERS]" rounds=5 steps_per_round=40
}

profile() { # where the time of the base model's step goes, on the processor and on the GPU
    "$PYTHON" - "$OUT/training-base-cuda.json" <<'PROGRAM'
import json, sys
from torch.profiler import profile
from mt.benchmark.ours_training import prepare

_, train = prepare(json.load(open(sys.argv[1], encoding="utf-8"))["task"])
train({"precision": "bf16"})  # compiles
with profile() as seen:
    train({"precision": "bf16"})
for times in ("self_cpu_time_total", "self_cuda_time_total"):
    print(seen.key_averages().table(sort_by=times, row_limit=20, max_name_column_width=60))
PROGRAM
}

train() { # a real training to its BLEU
    "$PYTHON" scripts/train.py "${data[@]}" device=cuda "run_dir=$RUN/train" \
        && mkdir -p "$OUT" && cp "$RUN/train/evaluation.json" "$OUT/gpu-training-evaluation.json" \
        && cp "$RUN/train/metrics.jsonl" "$OUT/gpu-training-metrics.jsonl"
}

decode() { # ours alone: the other systems need an export of the run (mt-export)
    "$PYTHON" scripts/benchmark_decode.py "run_dir=$RUN/train" "systems_python=$SYSTEMS" "output=$OUT" \
        'systems=[ours_fp32,ours_bf16]'
}

for name in "${@:-tests base profile big train decode}"; do
    for one in $name; do
        case $one in
            tests) stage tests "$PYTHON" -m pytest -m gpu tests ;;
            base | big) stage "$one" speed "$one" ;;
            profile | train | decode) stage "$one" "$one" ;;
            *) echo "error: no stage $one" >&2; exit 2 ;;
        esac
    done
done
if [ ${#failed[@]} -gt 0 ]; then echo "failed: ${failed[*]}" >&2; exit 1; fi
