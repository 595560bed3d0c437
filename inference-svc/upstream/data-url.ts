/** Bytes that come along in a request: a data URL in base64, or a PDF without one. */

const dataUrl = /^data:([^;,]{1,100})(?:;[^;,]{1,100})*;base64,/;
/** "%PDF" in base64. */
const pdfStart = "JVBER";

export interface Data {
  /** In small letters: image/png. */
  readonly type: string;
  readonly base64: string;
}

/** @returns undefined for what is neither */
export function dataIn(text: string): Data | undefined {
  const [head = "", type] = dataUrl.exec(text) ?? [];
  if (type !== undefined) return { type: type.toLowerCase(), base64: text.slice(head.length) };
  return text.startsWith(pdfStart) ? { type: "application/pdf", base64: text } : undefined;
}
