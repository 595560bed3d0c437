/** The script of the mock upstream, encoded in the model's name, which every proxy passes on unchanged. */

export type Script =
  | { readonly kind: "json" }
  /** Deltas with a gap before each, except the first. */
  | { readonly kind: "paced"; readonly deltas: number; readonly gapMs: number }
  /** The whole stream in one write. */
  | { readonly kind: "burst"; readonly deltas: number }
  /** A complete answer, or an error while an outage is commanded. */
  | { readonly kind: "outage" }
  /** Deltas without end, as fast as the client reads them. */
  | { readonly kind: "flood" }
  /** A single delta and then nothing, without end. */
  | { readonly kind: "silent" }
  /** A single delta, and then one for each request with the script `step`, without end. */
  | { readonly kind: "stepped" }
  | { readonly kind: "step" };

/** Number of deltas that no measurement waits for: the stream ends only when it is closed. */
export const endlessDeltas = 1_000_000;

export function modelOf(script: Script): string {
  if (script.kind === "paced") return `bench/paced-${script.deltas}-${script.gapMs}`;
  if (script.kind === "burst") return `bench/burst-${script.deltas}`;
  return `bench/${script.kind}`;
}

/** Scripts without parameters. */
const plain: ReadonlySet<string> = new Set(["json", "outage", "flood", "silent", "stepped", "step"]);

/** @throws for a model without a script */
export function scriptOf(model: string): Script {
  const [kind, deltas, gapMs] = model.replace("bench/", "").split("-");
  if (plain.has(kind as string)) return { kind } as Script;
  if (kind === "burst") return { kind, deltas: Number(deltas) };
  if (kind === "paced") return { kind, deltas: Number(deltas), gapMs: Number(gapMs) };
  throw new Error(`unknown script: ${model}`);
}

/** Number of deltas in a complete answer. */
export function deltasOf(script: Script): number {
  if (script.kind === "paced" || script.kind === "burst") return script.deltas;
  return hasJsonAnswer(script) ? 0 : endlessDeltas;
}

/** Whether a script is answered with one JSON body. */
export const hasJsonAnswer = ({ kind }: Script): boolean => kind === "json" || kind === "outage" || kind === "step";
