/** Reads files: texts in this process, documents in reader processes. The text of a document is cached per API key. */
import { createHash } from "node:crypto";
import { TimeSlice, type Yielding } from "../../turn/time-slice.ts";
import type { FilePart, FileReading, FileText } from "../../turn/file-text.ts";
import type { Scope } from "../../turn/scope.ts";
import { isBinary } from "./binary.ts";
import { decodeFile, encodeFile } from "./bytes.ts";
import { readText } from "./charset.ts";
import type { EncodedFile } from "./data-url.ts";
import { findFileKind, mediaTypes, parseFileData } from "./part.ts";
import type { DocumentReaders, DocumentText } from "./documents/readers.ts";
import { FileProblem } from "./problem.ts";
import { TextCache } from "./text-cache.ts";

export class FileReader {
  readonly #documents: Pick<DocumentReaders, "read">;
  readonly #cache = new TextCache<DocumentText>();

  constructor(documents: Pick<DocumentReaders, "read">) {
    this.#documents = documents;
  }

  /** Reads the text of a file. @throws FileProblem, FileReadUnavailable; Fault when the turn is over */
  async read(file: FilePart, scope: Scope): Promise<FileReading> {
    return (await this.#open(file, scope)).reading;
  }

  /**
   * Reads a file, and replaces its contents in the request by the decoded contents: a text in UTF-8, or the bytes of a
   * document under their true type, so a receiver reads the same.
   * @returns undefined for formats without text, such as pictures and archives
   * @throws FileProblem, FileReadUnavailable; Fault when the turn is over
   */
  async readAsSent(file: FilePart, scope: Scope): Promise<FileReading | undefined> {
    const timeSlice = new TimeSlice(scope.signal);
    if (findFileKind(file) === undefined) {
      const enclosed = parseFileData(file);
      if (enclosed === undefined) return undefined;
      const bytes = await timeSlice.run(decodeFile(enclosed));
      // Bytes of an unknown format could be a text in an encoding known only to the receiver.
      if (!isBinary(bytes, enclosed.type)) throw new FileProblem("it is neither a text nor of a known format");
      file.part["file_data"] = await timeSlice.run(encodeFile(bytes, enclosed));
      return undefined;
    }
    const { reading, bytes, enclosed } = await this.#open(file, scope);
    const { kind, text } = reading;
    const type = kind === "text" ? enclosed.type : mediaTypes[kind];
    file.part["file_data"] = await timeSlice.run(encodeFile(kind === "text" ? text : bytes, { ...enclosed, type }));
    return reading;
  }

  async #open(file: FilePart, { caller, signal }: Scope): Promise<OpenFile> {
    const enclosed = parseFileData(file);
    const kind = findFileKind(file);
    if (enclosed === undefined || kind === undefined) throw new FileProblem("this file has no readable text");
    const timeSlice = new TimeSlice(signal);
    const bytes = await timeSlice.run(decodeFile(enclosed));
    if (kind === "text") {
      const { text, others } = await timeSlice.run(readText(bytes, enclosed.charset));
      const beside = others.length > 0 && { beside: others };
      return { enclosed, bytes, reading: { text, ...beside, kind, truncated: false, cached: false } };
    }
    const key = await timeSlice.run(keyOf(`${caller.keyHash} ${kind}`, bytes));
    const before = this.#cache.find(key);
    const text = before ?? (await this.#documents.read({ kind, bytes }, signal));
    if (before === undefined) this.#cache.note(key, text);
    const around = kind === "pdf" ? textsAround(bytes) : [];
    const beside = [...around, ...(text.beside ?? [])];
    const more = beside.length > 0 && { beside };
    return { enclosed, bytes, reading: { ...text, ...more, kind, cached: before !== undefined } };
  }
}

/** The bytes before and after a PDF in its file: PDF readers skip them, text readers do not. */
const textsAround = (bytes: Buffer): string[] =>
  [bytes.subarray(0, bytes.indexOf("%PDF-")), bytes.subarray(bytes.lastIndexOf("%%EOF") + "%%EOF".length)]
    .map((outside) => outside.toString("latin1").trim())
    .filter((text) => text !== "");

interface OpenFile {
  readonly enclosed: EncodedFile;
  readonly bytes: Buffer;
  readonly reading: FileReading;
}

/** Bytes hashed per time slice, about a millisecond of work. */
const hashedAtOnce = 1_048_576;

function* keyOf(owner: string, bytes: Buffer): Yielding<string> {
  const hash = createHash("sha256").update(owner);
  for (let at = 0; at < bytes.length; at += hashedAtOnce) {
    hash.update(bytes.subarray(at, at + hashedAtOnce));
    yield;
  }
  return hash.digest("base64");
}

const markdown = { data: "data:text/markdown;base64,", isBase64: true, type: "text/markdown" };

/** Replaces the contents of a file by its redacted text. A document becomes a text file, so none of its bytes can be sent. */
export function* replaceWithRedacted({ file, reading, text }: FileText): Yielding {
  const enclosed = reading.kind === "text" ? parseFileData(file) : { ...markdown, start: markdown.data.length };
  if (enclosed) file.part["file_data"] = yield* encodeFile(text, enclosed);
}
