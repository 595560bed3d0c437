/** Opens the right reader for the body of a provider's answer. */
import { isUtf8 } from "node:buffer";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { openBrace, openBracket } from "@sluice/proto/lib/json/bytes.js";
import { ValueCount, tooManyValues } from "@sluice/proto/lib/json/values.js";
import { findDecompressor } from "../transport/content-coding.ts";
import type { AnswerReader, Framing, Translator } from "../dialect.ts";
import { answerTooLarge, providerFailed } from "../failure.ts";
import { maskUnknownName } from "../known-words.ts";
import type { ResponseFields } from "../transport/http/response-head.ts";

/** Maximum bytes of an error that are read. Providers explain an error in less than a kilobyte; a longer body is the page of a proxy. */
const errorLimitBytes = 64 * 1024;

export interface AnswerHead extends ResponseFields {
  readonly status: number;
  readonly contentType: string;
  /** Content codings of the body in lower case, joined by a comma; undefined for an uncompressed body. */
  readonly contentCoding: string | undefined;
}

export interface ExpectedAnswer {
  /** Whether the request asked for a stream, which decides if the headers do not. */
  readonly stream: boolean;
  readonly framing: Framing;
  /** Converts an error answer to a fault. */
  fault(head: AnswerHead, body: unknown): Fault;
}

/**
 * Chooses the reader for a body. @throws Fault for a redirect, which would receive the credentials, and for a web page
 * or another unexpected type
 */
export function openAnswer(head: AnswerHead, expected: ExpectedAnswer, translator: Translator): AnswerReader {
  const { status } = head;
  if (status >= 400) return new ErrorAnswer(head, expected);
  if (status >= 300) throw providerFailed(`redirect, status ${status}`);
  const { contentCoding: coding } = head;
  if (coding !== undefined && !findDecompressor(coding))
    throw providerFailed(`content-encoding ${maskUnknownName(coding)}`);
  const type = head.contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const { framing } = expected;
  if (type !== framing.type && !unspecificTypes.has(type) && type !== "application/json" && !type.endsWith("+json"))
    throw providerFailed(`content-type ${maskUnknownName(type)}`);
  return new DetectedAnswer(framing, translator);
}

/** Media types that tell nothing about the body; servers written by hand often leave such a default. */
const unspecificTypes: ReadonlySet<string> = new Set(["", "text/plain", "text/json", "application/octet-stream"]);

const lessThan = 0x3c;

/** Bytes that may precede an answer: white space, and the three bytes of a byte order mark. */
const blanks: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf]);

/**
 * Detects the format of a body by its first character, because servers label streams as JSON and JSON errors as
 * streams. No event of a stream begins with a brace or bracket, and web pages begin with <.
 */
class DetectedAnswer implements AnswerReader {
  readonly #framing: Framing;
  readonly #translator: Translator;
  /** Chunks of white space before the first character. */
  #before: Uint8Array[] | undefined;
  #answer: AnswerReader | undefined;

  constructor(framing: Framing, translator: Translator) {
    this.#framing = framing;
    this.#translator = translator;
  }

  feed(chunk: Uint8Array): void {
    if (this.#answer) return this.#answer.feed(chunk);
    let at = 0;
    while (at < chunk.length && blanks.has(chunk[at]!)) at++;
    if (at === chunk.length) return void (this.#before ??= []).push(Buffer.from(chunk));
    const first = chunk[at];
    if (first === lessThan) throw providerFailed("a page");
    const isWhole = first === openBrace || first === openBracket;
    this.#answer = isWhole ? new WholeAnswer(this.#translator) : this.#framing.open(this.#translator);
    for (const blanks of this.#before ?? []) this.#answer.feed(blanks);
    this.#answer.feed(chunk);
  }

  end(): void {
    (this.#answer ?? this.#framing.open(this.#translator)).end();
  }
}

const byteOrderMark = 0xfeff;

class WholeAnswer implements AnswerReader {
  readonly #translator: Translator;
  readonly #values = new ValueCount();
  #chunks: Buffer[] = [];

  constructor(translator: Translator) {
    this.#translator = translator;
  }

  /** Reads a chunk. @throws Fault as soon as the body has too many JSON values */
  feed(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk);
    this.#chunks.push(bytes);
    this.#values.add(bytes);
    if (this.#values.isTooMany) throw answerTooLarge(tooManyValues);
  }

  end(): void {
    this.#translator.event(undefined, this.#takeText(), this.#values.total);
    if (!this.#translator.done) this.#translator.close(true);
  }

  /** Takes the text out of the buffer, so the bytes are not kept in addition. */
  #takeText(): string {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#chunks = [];
    if (!isUtf8(bytes)) throw providerFailed("invalid UTF-8");
    const text = bytes.toString();
    return text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text;
  }
}

class ErrorAnswer implements AnswerReader {
  readonly #head: AnswerHead;
  readonly #expected: ExpectedAnswer;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;

  constructor(head: AnswerHead, expected: ExpectedAnswer) {
    this.#head = head;
    this.#expected = expected;
  }

  feed(chunk: Uint8Array): void {
    this.#size += chunk.length;
    if (this.#size > errorLimitBytes) throw this.#expected.fault(this.#head, undefined);
    this.#chunks.push(Buffer.from(chunk));
  }

  end(): void {
    throw this.#expected.fault(this.#head, readJson(Buffer.concat(this.#chunks)));
  }
}

function readJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
