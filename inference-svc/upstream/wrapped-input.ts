/** Reads the text out of `{"input":"..."}` while it is being written: what a custom tool gets where a format knows functions only. */

const escapes: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const beginning = /^\s*\{\s*"input"\s*:\s*"/;

export class WrappedInput {
  /** All that was written. */
  json = "";
  #place: "before" | "inside" | "after" = "before";
  /** The beginning of an escape sequence. */
  #rest = "";
  /** The first half of a character: alone it cannot be sent. */
  #half = "";

  /** @returns the text that has become known: only whole escape sequences, only whole characters */
  read(json: string): string {
    this.json += json;
    if (this.#place === "inside") return this.#whole(this.#decode(this.#rest + json));
    const begun = this.#place === "before" ? beginning.exec(this.json) : undefined;
    if (!begun) return "";
    this.#place = "inside";
    return this.#whole(this.#decode(this.json.slice(begun[0].length)));
  }

  /** @returns what is left to say when the call has ended: everything, when the model did not keep to the form */
  finish(): string {
    return this.#place === "before" ? unwrapped(this.json) : "";
  }

  #decode(json: string): string {
    let text = "";
    let from = 0;
    let at = 0;
    while (at < json.length && json[at] !== '"') {
      if (json[at] !== "\\") {
        at++;
        continue;
      }
      const end = at + (json[at + 1] === "u" ? 6 : 2);
      if (end > json.length) break;
      text += json.slice(from, at) + unescaped(json.slice(at + 1, end));
      from = at = end;
    }
    if (json[at] === '"') this.#place = "after";
    this.#rest = json.slice(at);
    return text + json.slice(from, at);
  }

  #whole(decoded: string): string {
    const text = this.#half + decoded;
    const code = text.charCodeAt(text.length - 1);
    const cut = code >= 0xd800 && code <= 0xdbff && this.#place === "inside";
    this.#half = cut ? text.slice(-1) : "";
    return cut ? text.slice(0, -1) : text;
  }
}

/** @param escape without its backslash; what no JSON knows stands for itself */
function unescaped(escape: string): string {
  if (!escape.startsWith("u")) return escapes[escape] ?? escape;
  const code = Number.parseInt(escape.slice(1), 16);
  return Number.isNaN(code) ? escape : String.fromCharCode(code);
}

/** The input by name, the only text of an object, or all of it as the text that was meant. */
function unwrapped(json: string): string {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "string") return value;
    const fields = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
    if (typeof fields.input === "string") return fields.input;
    const [only, ...others] = Object.values(fields);
    return typeof only === "string" && others.length === 0 ? only : json;
  } catch {
    return json;
  }
}
