/** The files of the console and the API reference, held in memory: the path of a request is looked up among them and never reaches a disk. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import type { Published } from "./published.ts";

/** A file in the console build's output. */
interface BuiltFile {
  /** Path of the file below `/docs/`. */
  readonly path: string;
  readonly type: string;
  readonly etag: string;
  /** Content compressed by Brotli, in base64. */
  readonly br: string;
  /** Content compressed by gzip, in base64. */
  readonly gzip: string;
}

const page = "index.html";

/** Headers of a page that may load only files of the gateway. @param scripts hashes of the scripts within the page, such as `sha256-…` */
export const pageHeaders = (scripts: readonly string[] = []) => ({
  "content-security-policy": [
    "default-src 'none'",
    ["script-src 'self'", ...scripts.map((hash) => `'${hash}'`)].join(" "),
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
});

/** Headers of built files, which clients may cache forever because the names contain a hash of the content. */
export const fileHeaders = {
  "cache-control": "public, max-age=31536000, immutable",
  "cross-origin-resource-policy": "same-origin",
};

export class ConsoleSite {
  readonly #files: ReadonlyMap<string, Published>;

  constructor(files: readonly BuiltFile[]) {
    this.#files = new Map(files.map((file) => [file.path, publish(file)]));
  }

  /** The HTML page of the console and of the API reference; undefined if it was not built. */
  get page(): Published | undefined {
    return this.#files.get(page);
  }

  /** Finds a built file. @param path path below `/docs/` */
  find(path: string): Published | undefined {
    return this.#files.get(path);
  }
}

const consoleHeaders = { "cache-control": "no-store", ...pageHeaders() };

function publish({ path, type, etag, br, gzip }: BuiltFile): Published {
  const bytes = Buffer.from(br, "base64");
  return {
    headers: { "content-type": type, ...(path === page ? consoleHeaders : fileHeaders) },
    representations: [
      { coding: "br", bytes, etag: `"${etag}-br"` },
      { coding: "gzip", bytes: Buffer.from(gzip, "base64"), etag: `"${etag}-gzip"` },
      { coding: undefined, bytes: brotliDecompressSync(bytes), etag: `"${etag}"` },
    ],
  };
}

const built = fileURLToPath(new URL("../../../console/dist/site.json", import.meta.url));

function load(): ConsoleSite {
  if (!existsSync(built)) return new ConsoleSite([]);
  return new ConsoleSite((JSON.parse(readFileSync(built, "utf8")) as { readonly files: readonly BuiltFile[] }).files);
}

/** The built files; empty if the console was not built. */
export const consoleSite = load();
