"""The system's side of a contest: one JSON request a line in, one JSON answer a line out, idle in between."""

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

Request = dict[str, Any]
Answer = dict[str, Any]
Handler = Callable[[Request], Answer]


def serve(prepare: Callable[[Request], tuple[Answer, Handler]]) -> None:
    """Answer requests until standard input ends.

    The first request describes the task: `prepare` answers it and returns the function for all later ones. What
    libraries print goes to standard error, so that standard output has only answers. A request that fails is
    answered by `{"error": "..."}` with its traceback on standard error; a task that fails ends the process.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    handle: Handler | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if handle is None:
                answer, handle = prepare(request)
            else:
                answer = handle(request)
        except Exception as error:  # noqa: BLE001  the contest goes on without this entry
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        if handle is None:
            return
