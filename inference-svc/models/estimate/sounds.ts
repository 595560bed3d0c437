/** Estimates the lengths of sounds, and the tokens models count for them. */

/** Maximum tokens per second of sound: Gemini counts 32, others 10 to 25 (https://ai.google.dev/gemini-api/docs/audio). */
const maxTokensPerSecond = 40;
const typicalTokensPerSecond = 25;

/** Bytes per second of MP3 at its lowest bit rate, 8 kbit/s (ISO/IEC 13818-3); speech mostly has 64 kbit/s. */
const minMp3BytesPerSecond = 1_000;
const typicalMp3BytesPerSecond = 8_000;

/** Seconds added to the length of a sound: models pad it to a whole second and frame it. */
const framingSeconds = 2;

export interface SoundLength {
  readonly maxSeconds: number;
  readonly typicalSeconds: number;
}

/**
 * @param format name of the format in the request
 * @returns undefined for formats whose length does not follow from the number of bytes
 */
export function readSoundLength(base64: string, format: string): SoundLength | undefined {
  const bytes = Math.ceil((base64.length * 3) / 4);
  const head = Buffer.from(base64.slice(0, 128), "base64");
  if (isWave(head)) return waveLength(head, bytes);
  if (format !== "mp3" || !isMp3(head)) return undefined;
  return { maxSeconds: bytes / minMp3BytesPerSecond, typicalSeconds: bytes / typicalMp3BytesPerSecond };
}

const isWave = (head: Buffer): boolean =>
  head.toString("latin1", 0, 4) === "RIFF" && head.toString("latin1", 8, 12) === "WAVE";

const isMp3 = (head: Buffer): boolean =>
  head.toString("latin1", 0, 3) === "ID3" || (head.length > 1 && (head.readUInt16BE(0) & 0xffe0) === 0xffe0);

const pcm = 1;

/**
 * Reads the length of uncompressed samples. A compressed format in the same container may claim any rate, so its length
 * is unknown. The rate is computed from samples and bits, as players do, and not read from the field next to them.
 */
function waveLength(head: Buffer, bytes: number): SoundLength | undefined {
  if (head.length < 36 || head.toString("latin1", 12, 16) !== "fmt " || head.readUInt16LE(20) !== pcm) return undefined;
  const bytesPerSecond = (head.readUInt16LE(22) * head.readUInt32LE(24) * head.readUInt16LE(34)) / 8;
  if (bytesPerSecond === 0) return undefined;
  const seconds = bytes / bytesPerSecond;
  return { maxSeconds: seconds, typicalSeconds: seconds };
}

export const maxSoundTokens = (length: SoundLength | undefined): number | undefined =>
  length && Math.ceil((length.maxSeconds + framingSeconds) * maxTokensPerSecond);

/** Typical tokens of a sound; a sound of unknown length counts as one minute. */
export const typicalSoundTokens = (length: SoundLength | undefined): number =>
  Math.ceil((length?.typicalSeconds ?? 60) * typicalTokensPerSecond);
