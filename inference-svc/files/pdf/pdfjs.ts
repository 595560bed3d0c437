/** What of pdfjs is used. Its own types are those of a browser. */

export interface TextItem {
  readonly str: string;
  /** a, b, c, d, e, f: e and f are where it begins, from the lower left corner of the page. */
  readonly transform: readonly number[];
  readonly width: number;
  readonly height: number;
}

export interface PdfAnnotation {
  readonly fieldValue?: unknown;
  readonly contentsObj?: { readonly str?: string };
  readonly url?: string;
}

export interface PdfPage {
  getTextContent(): Promise<{ readonly items: readonly (TextItem | { readonly type: string })[] }>;
  getAnnotations(): Promise<readonly PdfAnnotation[]>;
  cleanup(): void;
}

export interface PdfDocument {
  readonly numPages: number;
  getPage(page: number): Promise<PdfPage>;
}

export interface PdfLoading {
  readonly promise: Promise<PdfDocument>;
  destroy(): Promise<void>;
}

interface Pdfjs {
  getDocument(settings: object): PdfLoading;
}

/** Names of files, not of types: what is not there is known when a PDF comes, and not before. */
const api = "pdfjs-dist/legacy/build/pdf.min.mjs";
const worker = "pdfjs-dist/legacy/build/pdf.worker.min.mjs";

/** Once in a process, which nothing else happens in. */
export async function loadPdfjs(): Promise<Pdfjs> {
  // By this it would load a canvas, and files that a PDF names.
  Object.assign(process, { getBuiltinModule: () => undefined });
  // Found there it needs no thread of its own.
  Object.assign(globalThis, { pdfjsWorker: await import(worker) });
  return (await import(api)) as Pdfjs;
}
