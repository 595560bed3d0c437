/** Files of a request, and what they say as far as a model can be told it. */

/** An `input_file` part. */
export interface FilePart {
  /** As in the request: `input.0.content.1`. */
  readonly path: string;
  /** The parsed one itself: what is written into it is what providers are sent. */
  readonly part: Record<string, unknown>;
}

export type FileKind = "pdf" | "text";

export interface FileReading {
  readonly text: string;
  readonly kind: FileKind;
  /** Of a PDF. */
  readonly pages?: number;
  /** The rest is left out. */
  readonly truncated: boolean;
  /** It was read for an earlier request of the same key. */
  readonly cached: boolean;
}

/** What a file of the request says, of which guardrails may redact something. */
export class FileText {
  readonly file: FilePart;
  readonly reading: FileReading;
  /** As it is by now. */
  text: string;

  constructor(file: FilePart, reading: FileReading) {
    this.file = file;
    this.reading = reading;
    this.text = reading.text;
  }

  get isRedacted(): boolean {
    return this.text !== this.reading.text;
  }
}

/** By the part that it is of. */
export type FileTexts = ReadonlyMap<unknown, FileText>;
