"""What the clients of all modules need: where the gateway is, and what they ask for."""
import os

base_url = os.environ["SLUICE_BASE_URL"]
# SDKs of Anthropic add /v1 by themselves.
anthropic_url = base_url.removesuffix("/v1")
api_key = os.environ["SLUICE_API_KEY"]

echo, far, embedder, unknown = "sluice/echo", "far/model", "far/embed", "nobody/nothing"
pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
pixel_data = pixel.split(",")[1]
parameters = {
    "type": "object",
    "properties": {"town": {"type": "string"}},
    "required": ["town"],
    "additionalProperties": False,
}
moon_schema = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "planet": {"type": "string", "enum": ["Mars", "Jupiter"]}},
    "required": ["name", "planet"],
    "additionalProperties": False,
}


def same(seen, expected):
    assert seen == expected, f"{seen!r} is not {expected!r}"


def has(text, part):
    assert part in (text or ""), f"{text!r} has no {part!r}"


def raises(kind, run, words=""):
    try:
        run()
    except kind as error:
        has(str(error), words)
        return error
    raise AssertionError(f"no {kind.__name__}")
