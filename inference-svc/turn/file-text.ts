/** Files of a request, and their texts for models without support for files. */

/** An `input_file` part of a request. */
export interface FilePart {
  /** Path in the request, such as `input.0.content.1`. */
  readonly path: string;
  /** The parsed part itself, not a copy: a text written into it reaches the provider. */
  readonly part: Record<string, unknown>;
}

/** Kinds of documents, which a separate process reads. */
export type DocumentKind = "pdf" | "docx" | "xlsx" | "pptx" | "epub";

export type FileKind = DocumentKind | "text";

export interface FileReading {
  readonly text: string;
  /** Further texts a reader may find in the file: under another charset, or in parts of a document that `text` lacks. */
  readonly beside?: readonly string[];
  readonly kind: FileKind;
  /** Number of pages; only set for a PDF. */
  readonly pages?: number;
  /** Whether a model read the text from pictures of the pages. */
  readonly isOcr?: boolean;
  /** Whether only the beginning of the file was read. */
  readonly truncated: boolean;
  /** Whether the text comes from the cache, after an earlier request of the same key. */
  readonly cached: boolean;
}

/** The text of one file; guardrails may redact it. */
export class FileText {
  readonly file: FilePart;
  readonly reading: FileReading;
  /** The text after the redactions so far. */
  text: string;
  #isAlone = false;

  constructor(file: FilePart, reading: FileReading) {
    this.file = file;
    this.reading = reading;
    this.text = reading.text;
  }

  /** Further texts a receiver may find in the file. */
  get beside(): readonly string[] {
    return this.#isAlone ? [] : (this.reading.beside ?? []);
  }

  /** Drops the further texts, because only `text` is sent instead of the document. */
  dropUnsentTexts(): void {
    this.#isAlone = true;
  }

  get isRedacted(): boolean {
    return this.#isAlone || this.text !== this.reading.text;
  }
}

/** Texts of files, by the parsed `input_file` part. */
export type FileTexts = ReadonlyMap<unknown, FileText>;
