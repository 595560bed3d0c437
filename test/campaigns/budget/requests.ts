/** Requests of every kind with a cost hard to predict. */
import type { Random } from "../../support/random.ts";
import { modelBehaviours } from "./provider.ts";

export interface PlannedRequest {
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Milliseconds after which the client leaves; undefined if it stays. */
  readonly leavesMs: number | undefined;
}

const texts = ["The largest moon of Saturn is Titan. ", "Москва ", "東京都", '{"a":[1,2,3]}\n'];

const encloses: readonly ((random: Random) => object)[] = [
  (random) => ({
    type: "input_image",
    detail: "auto",
    image_url: `data:image/png;base64,${png(random).toString("base64")}`,
  }),
  (random) => ({ type: "input_audio", input_audio: { format: "wav", data: wav(random).toString("base64") } }),
  (random) => ({ type: "input_file", filename: "a.txt", file_data: `data:text/plain;base64,${said(random, 20_000)}` }),
  () => ({
    type: "input_file",
    filename: "a.pdf",
    file_data: `data:application/pdf;base64,${base64("%PDF-1.7 packed")}`,
  }),
];

const base64 = (text: string): string => Buffer.from(text).toString("base64");

const said = (random: Random, most: number): string => base64(random.pick(texts).repeat(1 + random.below(most / 40)));

/** The header of a PNG image, which is enough: no provider of a test looks at the pixels. */
function png(random: Random): Buffer {
  const bytes = Buffer.alloc(33);
  bytes.write("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1");
  bytes.writeUInt32BE(1 + random.below(3_000), 16);
  bytes.writeUInt32BE(1 + random.below(3_000), 20);
  return bytes;
}

/** A mono recording of 16 bits at 16 kHz. */
function wav(random: Random): Buffer {
  const samples = Buffer.alloc(32_000 * (1 + random.below(4)));
  const head = Buffer.alloc(44);
  head.write("RIFF\0\0\0\0WAVEfmt ", "latin1");
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(16_000, 24);
  head.writeUInt32LE(32_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36, "latin1");
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

/** @param manner behaviour of the requested model; undefined for any */
export function planRequest(number: number, random: Random, manner: string, leaves: boolean): PlannedRequest {
  const id = `request-${number}`;
  const text = `${id} ${random.pick(texts).repeat(1 + random.below(60))}`;
  const enclosed = random.chance(0.5) ? [random.pick(encloses)(random)] : [];
  return {
    id,
    body: {
      model: `journal/${manner}`,
      input: [{ type: "message", role: "user", content: [{ type: "input_text", text }, ...enclosed] }],
      stream: random.chance(0.7),
      session_id: id,
      ...(random.chance(0.5) && { max_output_tokens: 16 + random.below(2_000) }),
    },
    leavesMs: leaves && random.chance(0.5) ? random.below(120) : undefined,
  };
}

export const behaviourNames = Object.keys(modelBehaviours);
