/** What one PDF may take. */
import { contentLimits } from "@sluice/proto/contract/content.js";

export const pdfLimits = {
  pages: 1_000,
  /** UTF-16 units of text; the rest is left out. */
  characters: contentLimits.text,
  /** Until its pages have been counted, and for each of them after that. */
  baseMs: 20_000,
  pageMs: 20,
  /** MiB of objects, then bytes of buffers: at once, and in all. A content stream of a page has some hundred kilobytes. */
  heapMib: 256,
  bufferBytes: 67_108_864,
  allBufferBytes: 1_073_741_824,
} as const;
