/** Reads files: texts here, PDFs by processes of their own. What was read of a PDF is remembered, for its key alone. */
import { createHash } from "node:crypto";
import { Breath, type Pauses } from "../turn/breath.ts";
import type { FilePart, FileReading, FileText } from "../turn/file-text.ts";
import type { Scope } from "../turn/scope.ts";
import { bytesOf, enclosing, textOf } from "./bytes.ts";
import { enclosedIn, kindOf } from "./part.ts";
import type { PdfReaders, PdfText } from "./pdf/readers.ts";
import { FileProblem } from "./problem.ts";
import { Remembered } from "./remembered.ts";

export class FileReader {
  readonly #pdfs: Pick<PdfReaders, "read">;
  readonly #remembered = new Remembered<PdfText>();

  constructor(pdfs: Pick<PdfReaders, "read">) {
    this.#pdfs = pdfs;
  }

  /** @throws FileProblem, NotRead; Fault when the turn is over */
  async read(file: FilePart, { caller, signal }: Scope): Promise<FileReading> {
    const enclosed = enclosedIn(file);
    const kind = kindOf(file);
    if (enclosed === undefined || kind === undefined) throw new FileProblem("nothing of this file can be read here");
    const breath = new Breath(signal);
    const bytes = await breath.through(bytesOf(enclosed));
    if (kind === "text") {
      const text = await breath.through(textOf(bytes, enclosed.charset));
      return { text, kind, truncated: false, cached: false };
    }
    const key = await breath.through(keyOf(caller.keyHash, bytes));
    const before = this.#remembered.find(key);
    const { text, pages, truncated } = before ?? (await this.#pdfs.read(bytes, signal));
    if (before === undefined) this.#remembered.note(key, { text, pages, truncated });
    return { text, kind, pages, truncated, cached: before !== undefined };
  }
}

/** Hashed at once: a millisecond. */
const hashedAtOnce = 1_048_576;

function* keyOf(keyHash: string, bytes: Buffer): Pauses<string> {
  const hash = createHash("sha256").update(keyHash);
  for (let at = 0; at < bytes.length; at += hashedAtOnce) {
    hash.update(bytes.subarray(at, at + hashedAtOnce));
    yield;
  }
  return hash.digest("base64");
}

const markdown = { data: "data:text/markdown;base64,", isBase64: true, type: "text/markdown" };

/** Makes a file say what its text is by now. A PDF is a text from then on: of its bytes nothing is left that anybody could send. */
export function* rewrite({ file, reading, text }: FileText): Pauses {
  const enclosed = reading.kind === "text" ? enclosedIn(file) : { ...markdown, start: markdown.data.length };
  if (enclosed) file.part["file_data"] = yield* enclosing(text, enclosed);
}
