/** Limits for one document: a PDF, an office file or a book. */
import { contentLimits } from "@sluice/proto/contract/items/content.js";

export const documentLimits = {
  /** Maximum number of pages of a PDF. */
  pages: 1_000,
  /** Maximum UTF-16 units of text; longer texts are truncated. */
  characters: contentLimits.text,
  /** Milliseconds until the pages of a PDF are counted, and again afterwards, plus `pageMs` for each page. */
  baseMs: 20_000,
  pageMs: 20,
  /**
   * Maximum JavaScript heap in MiB, then maximum bytes of one buffer, and of all buffers of a file. The content stream
   * of a page takes some hundred kilobytes.
   */
  heapMib: 256,
  bufferBytes: 67_108_864,
  allBufferBytes: 1_073_741_824,
  /** Maximum unpacked bytes of all parts read from an office file or book, and maximum number of parts. */
  unpackedBytes: 134_217_728,
  parts: 10_000,
} as const;
