/** Every text of a request that a model will read, each as it is and with its disguises taken off. */
import type { TurnRequest } from "../turn/request.ts";

/** Fields of an item that hold ids, bytes or sealed text. A field that nobody has thought of is read. */
const notText: ReadonlySet<string> = new Set([
  "type",
  "id",
  "call_id",
  "role",
  "status",
  "detail",
  "encrypted_content",
  "signature",
  "format",
  "file_data",
  "data",
]);

/** Fields that often hold JSON: in it, text can hide behind escapes. */
const mayHoldJson: ReadonlySet<string> = new Set(["arguments", "output", "input"]);

/** Characters that nobody sees, zero-width ones and tags among them: a word stays readable to a model between them. */
const invisible = /\p{Default_Ignorable_Code_Point}/gu;
const ascii = /^\p{ASCII}*$/u;

export function* viewsOf(request: TurnRequest): Iterable<string> {
  for (const text of textsOf(request)) {
    yield text;
    if (ascii.test(text)) continue;
    const plain = text.normalize("NFKC").replace(invisible, "");
    if (plain !== text) yield plain;
  }
}

function* textsOf(request: TurnRequest): Iterable<string> {
  if (request.instructions !== undefined) yield request.instructions;
  for (const item of request.input) {
    yield* leaves(item);
    yield* joined(item.content);
    yield* joined(item.output);
    // Of a tool a model reads everything, the names of parameters included.
    if (item.tools !== undefined) yield* jsonLeaves(JSON.stringify(item.tools));
  }
  for (const tool of request.tools) yield* jsonLeaves(tool.json);
  if (request.textFormat?.type !== "json_schema") return;
  yield request.textFormat.name;
  if (request.textFormat.description !== undefined) yield request.textFormat.description;
  yield* jsonLeaves(request.textFormat.schemaJson);
}

/** The parts of one message in a row: a model reads over the seam. */
function* joined(content: unknown): Iterable<string> {
  if (!Array.isArray(content) || content.length < 2) return;
  yield content.map((part: { text?: unknown } | null) => (typeof part?.text === "string" ? part.text : "")).join("");
}

/** All strings below a value, without recursion: how deep a client nests is its own choice. */
function* leaves(root: unknown): Iterable<string> {
  const open: (readonly [name: string, value: unknown])[] = [["", root]];
  for (let entry = open.pop(); entry; entry = open.pop()) {
    const [name, value] = entry;
    if (typeof value === "string") {
      // The bytes of an image or file; a link is a text.
      if (value.startsWith("data:")) continue;
      yield value;
      if (mayHoldJson.has(name)) yield* jsonLeaves(value);
    } else if (Array.isArray(value)) {
      for (const element of value) open.push([name, element]);
    } else if (typeof value === "object" && value !== null) {
      for (const [field, inner] of Object.entries(value)) if (!notText.has(field)) open.push([field, inner]);
    }
  }
}

/** The strings and names of a JSON text; nothing when it is none. */
function* jsonLeaves(json: string): Iterable<string> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return;
  }
  const open = [value];
  while (open.length > 0) {
    const entry = open.pop();
    if (typeof entry === "string") yield entry;
    else if (typeof entry === "object" && entry !== null) {
      for (const [name, inner] of Object.entries(entry)) {
        if (!Array.isArray(entry)) yield name;
        open.push(inner);
      }
    }
  }
}
