/** Types for the used part of pdfjs; the package's own types need the types of a browser. */

export interface TextItem {
  readonly str: string;
  /** The matrix a, b, c, d, e, f; (e, f) is the start of the text, measured from the lower left corner of the page. */
  readonly transform: readonly number[];
  readonly width: number;
  readonly height: number;
}

export interface PdfAnnotation {
  readonly fieldValue?: unknown;
  readonly contentsObj?: { readonly str?: string };
  readonly url?: string;
  readonly titleObj?: { readonly str?: string };
}

export interface PdfBookmark {
  readonly title: string;
  readonly url?: string | null;
  readonly items: readonly PdfBookmark[];
}

export interface PdfAttachment {
  readonly filename: string;
  readonly description?: string;
  readonly content: Uint8Array;
}

export interface PdfPage {
  getTextContent(): Promise<{ readonly items: readonly (TextItem | { readonly type: string })[] }>;
  getAnnotations(): Promise<readonly PdfAnnotation[]>;
  cleanup(): void;
}

export interface PdfDocument {
  readonly numPages: number;
  getPage(page: number): Promise<PdfPage>;
  getMetadata(): Promise<{ readonly info: object; readonly metadata: { get(name: string): unknown } | null }>;
  getOutline(): Promise<readonly PdfBookmark[] | null>;
  getAttachments(): Promise<Readonly<Record<string, PdfAttachment>> | null>;
}

export interface PdfLoading {
  readonly promise: Promise<PdfDocument>;
  destroy(): Promise<void>;
}

interface Pdfjs {
  getDocument(settings: object): PdfLoading;
}

/** Module names in variables, so TypeScript does not resolve them; a missing package is reported at the first PDF. */
const api = "pdfjs-dist/legacy/build/pdf.min.mjs";
const worker = "pdfjs-dist/legacy/build/pdf.worker.min.mjs";

/** Loads pdfjs. Changes global objects: call it once, in a process used for nothing else. */
export async function loadPdfjs(): Promise<Pdfjs> {
  // `getBuiltinModule` is removed so pdfjs loads neither a canvas nor files named in a PDF.
  Object.assign(process, { getBuiltinModule: () => undefined });
  // pdfjs takes the worker from this global and starts no thread.
  Object.assign(globalThis, { pdfjsWorker: await import(worker) });
  return (await import(api)) as Pdfjs;
}
