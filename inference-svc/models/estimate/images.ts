/** Reads width and height of pictures from their headers, and estimates the maximum tokens a vendor counts for a picture of this size. */

export interface Pixels {
  readonly width: number;
  readonly height: number;
}

/** Maximum base64 characters of a picture that are read. JPEGs carry previews and colour profiles before their dimensions. */
const maxHeaderCharacters = 512 * 1024;

/** @returns undefined for bytes of another format, and when the dimensions are not within the characters read */
export function readPixels(base64: string): Pixels | undefined {
  const head = Buffer.from(base64.slice(0, maxHeaderCharacters), "base64");
  const pixels = png(head) ?? gif(head) ?? webp(head) ?? jpeg(head);
  return pixels && pixels.width > 0 && pixels.height > 0 ? pixels : undefined;
}

function png(bytes: Buffer): Pixels | undefined {
  if (bytes.length < 24 || bytes.toString("latin1", 1, 4) !== "PNG") return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function gif(bytes: Buffer): Pixels | undefined {
  if (bytes.length < 10 || bytes.toString("latin1", 0, 4) !== "GIF8") return undefined;
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** Dimensions of a WebP picture: each of three kinds of chunk has its layout (https://developers.google.com/speed/webp/docs/riff_container). */
function webp(bytes: Buffer): Pixels | undefined {
  if (bytes.length < 30 || bytes.toString("latin1", 8, 12) !== "WEBP") return undefined;
  switch (bytes.toString("latin1", 12, 16)) {
    case "VP8X":
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    case "VP8L": {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8 ":
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    default:
      return undefined;
  }
}

/** Dimensions of a JPEG: reads segment after segment up to the start of a frame. */
function jpeg(bytes: Buffer): Pixels | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return undefined;
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1] as number;
    // Frames have the markers C0 to CF, except for tables (C4), extensions (C8) and arithmetic coding (CC).
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

/** Tokens of a picture of unknown size: one model family counts 765 for 1024 by 1024 pixels, another at most 1,600 for any picture. */
const typicalTokens = 1_000;
const maxTypicalTokens = 1_600;

/** Typical tokens of a picture. The divisor is that of the Claude family (https://platform.claude.com/docs/en/build-with-claude/vision). */
export const typicalImageTokens = (pixels: Pixels | undefined): number =>
  pixels ? Math.min(maxTypicalTokens, Math.ceil((pixels.width * pixels.height) / 750)) : typicalTokens;

/** Least value for the maximum: the highest media resolution of Gemini 3 takes this many tokens for a picture of any size. */
const minImageTokens = 2_240;
/** Tokens per patch: the largest published factor of models with patches of 28 to 32 pixels. */
const tokensPerPatch = 2.46;
const patchPixels = 28;
/** Minimum size in pixels of the tiles into which Gemini 2 cuts a narrow picture, each of 258 tokens. */
const tilePixels = 256;
const tokensPerTile = 258;

/** Authors whose models all scale pictures down. At the largest factor, a picture then has at most 10,000 patches. */
const scalingAuthors: ReadonlySet<string> = new Set(["anthropic", "google", "openai"]);
const maxScaledTokens = 10_000 * tokensPerPatch;

/**
 * Maximum tokens of a picture for GPT-4o mini, which counts 2,833 tokens and 5,667 for each of at most eight tiles, so
 * a picture costs as much as with GPT-4o.
 */
const miniTokens = 2_833 + 8 * 5_667;

/**
 * Maximum tokens of a picture by any published rule.
 * @param pixels undefined when they cannot be read
 * @param model slug of the model
 * @returns undefined when only the context window limits the number
 */
export function maxImageTokens(pixels: Pixels | undefined, model: string): number | undefined {
  if (model.includes("4o-mini")) return miniTokens;
  const scales = scalingAuthors.has(model.split("/", 1)[0] as string);
  if (pixels === undefined) return scales ? maxScaledTokens : undefined;
  const grid = (side: number) => Math.ceil(pixels.width / side) * Math.ceil(pixels.height / side);
  const tokens = Math.max(minImageTokens, grid(patchPixels) * tokensPerPatch, grid(tilePixels) * tokensPerTile);
  return Math.ceil(scales ? Math.min(tokens, maxScaledTokens) : tokens);
}
