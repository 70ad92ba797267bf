"""Results of programs as a JSON file that people can read and mend."""

from __future__ import annotations

import base64
import json
import os

from fsconsole.model.command import CommandResult, Usage


def save_results(results: tuple[CommandResult, ...], path: str) -> None:
    """Write results to a JSON file: outputs as text where they are UTF-8, else as base64. Raises OSError."""
    document = [_to_json(result) for result in results]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1, ensure_ascii=True)
        file.write("\n")


def load_results(path: str | os.PathLike[str]) -> tuple[CommandResult, ...]:
    """Return the results in a JSON file that save_results wrote. Raises OSError, ValueError."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    match document:
        case [*items]:
            return tuple(_from_json(item) for item in items)
    raise ValueError(f"{os.fspath(path)} is not a list of results")


def _to_json(result: CommandResult) -> dict[str, object]:
    usage = result.usage
    return {
        "argv": list(result.argv),
        "exit_code": result.exit_code,
        "stdout": _bytes_to_json(result.stdout),
        "stderr": _bytes_to_json(result.stderr),
        "usage": [usage.elapsed_s, usage.user_s, usage.system_s, usage.max_rss_bytes],
        "timed_out": result.timed_out,
        "kernel_log": list(result.kernel_log),
    }


def _from_json(item: object) -> CommandResult:
    match item:
        case {
            "argv": [*argv],
            "exit_code": int(exit_code),
            "stdout": stdout,
            "stderr": stderr,
            "usage": [
                int() | float() as elapsed_s,
                int() | float() as user_s,
                int() | float() as system_s,
                int(max_rss_bytes),
            ],
            "timed_out": bool(timed_out),
            "kernel_log": [*kernel_log],
        }:
            return CommandResult(
                argv=tuple(str(word) for word in argv),
                exit_code=exit_code,
                stdout=_bytes_from_json(stdout),
                stderr=_bytes_from_json(stderr),
                usage=Usage(float(elapsed_s), float(user_s), float(system_s), max_rss_bytes),
                timed_out=timed_out,
                kernel_log=tuple(str(line) for line in kernel_log),
            )
    raise ValueError(f"not a recorded result: {item!r}")


def _bytes_to_json(data: bytes) -> str | dict[str, str]:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _bytes_from_json(value: object) -> bytes:
    match value:
        case str(text):
            return text.encode("utf-8")
        case {"base64": str(text)}:
            return base64.b64decode(text, validate=True)
    raise ValueError(f"neither text nor base64: {value!r}")
