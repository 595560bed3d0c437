/** Reads data URLs (RFC 2397), such as `data:image/png;base64,iVBOR…`. */

/** The bytes of a file inside a longer text, still encoded. */
export interface EncodedFile {
  readonly data: string;
  /** Offset in `data` of the file's first encoded byte. */
  readonly start: number;
  /** Whether the data is base64; if not, it has percent escapes. */
  readonly isBase64: boolean;
  /** Media type in lower case; empty when the URL names none. */
  readonly type: string;
  readonly charset?: string;
}

const prefix = /^data:([^,]{0,1000}),/i;

/** @returns undefined for a text other than a data URL */
export function parseDataUrl(data: string): EncodedFile | undefined {
  const [head, settings] = prefix.exec(data) ?? [];
  if (head === undefined || settings === undefined) return undefined;
  const [type = "", ...more] = settings.split(";").map((setting) => setting.trim().toLowerCase());
  const charset = more.find((setting) => setting.startsWith("charset="))?.slice("charset=".length);
  return {
    data,
    start: head.length,
    isBase64: more.includes("base64"),
    type,
    ...(charset !== undefined && { charset: charset.replaceAll('"', "") }),
  };
}

export interface InlineData {
  /** Media type in lower case, such as image/png. */
  readonly type: string;
  readonly charset?: string;
  readonly base64: string;
}

/** First characters of images in base64, each with its media type. */
const imageStarts: readonly (readonly [start: string, type: string])[] = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGOD", "image/gif"],
  ["SUkqA", "image/tiff"],
  ["TU0AK", "image/tiff"],
  ["PHN2Z", "image/svg+xml"],
];

/** Brands of the ISO container behind "ftyp". */
const brands: Readonly<Record<string, string>> = {
  heic: "image/heic",
  heix: "image/heic",
  hevc: "image/heic",
  heim: "image/heic",
  heis: "image/heic",
  mif1: "image/heif",
  msf1: "image/heif",
  avif: "image/avif",
  avis: "image/avif",
};

/** "BM" and a length whose upper bytes are low. */
const bitmapStart = /^Qk[0-3]...A/;

/** Types told by more than their first bytes. */
function containedType(base64: string): string | undefined {
  const isCandidate = base64.startsWith("UklGR") || base64.startsWith("AAAA");
  if (!isCandidate) return bitmapStart.test(base64) ? "image/bmp" : undefined;
  const head = Buffer.from(base64.slice(0, 16), "base64").toString("latin1");
  if (head.startsWith("RIFF")) return head.slice(8) === "WEBP" ? "image/webp" : undefined;
  return head.slice(4, 8) === "ftyp" ? brands[head.slice(8)] : undefined;
}

/**
 * The media type of an image by its bytes, or the given type for unknown bytes. Clients name every screenshot PNG, and
 * vendors answer 400 when the type does not match the image ("the image appears to be a image/jpeg image").
 */
export function imageTypeOf({ type, base64 }: InlineData): string {
  const known = imageStarts.find(([start]) => base64.startsWith(start))?.[1] ?? containedType(base64);
  return known ?? (type === "image/jpg" ? "image/jpeg" : type);
}

/** @returns undefined for everything but a data URL in base64 with a media type */
export function readDataUrl(url: string): InlineData | undefined {
  const found = parseDataUrl(url);
  if (found === undefined || !found.isBase64 || found.type === "") return undefined;
  const { type, charset, start } = found;
  return { type, ...(charset !== undefined && { charset }), base64: url.slice(start) };
}

/** "%PDF" in base64, the start of every PDF. */
const pdfStart = "JVBER";

/** Reads `file_data`: clients send a data URL, or a PDF as bare base64. @returns undefined for anything else */
export const readFileData = (data: string): InlineData | undefined =>
  readDataUrl(data) ?? (data.startsWith(pdfStart) ? { type: "application/pdf", base64: data } : undefined);
