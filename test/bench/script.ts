/** What the mock upstream is to do, written into the name of the model: the only thing that travels unchanged through every proxy. */

export type Script =
  | { readonly kind: "json" }
  /** One delta at once, the others one after each gap. */
  | { readonly kind: "paced"; readonly deltas: number; readonly gapMs: number }
  /** The whole stream in one write. */
  | { readonly kind: "burst"; readonly deltas: number }
  /** A whole answer, or an error while the mock was told to fail. */
  | { readonly kind: "outage" }
  /** Deltas as fast as the reader takes them, without end. */
  | { readonly kind: "flood" }
  /** One delta, then nothing more, and no end. */
  | { readonly kind: "silent" };

/** More deltas than any measurement waits for: a stream that ends only when it is closed. */
export const endless = 1_000_000;

export function modelOf(script: Script): string {
  if (script.kind === "paced") return `bench/paced-${script.deltas}-${script.gapMs}`;
  if (script.kind === "burst") return `bench/burst-${script.deltas}`;
  return `bench/${script.kind}`;
}

/** @throws for a model that no script is called by */
export function scriptOf(model: string): Script {
  const [kind, deltas, gapMs] = model.replace("bench/", "").split("-");
  if (kind === "json" || kind === "outage" || kind === "flood" || kind === "silent") return { kind };
  if (kind === "burst") return { kind, deltas: Number(deltas) };
  if (kind === "paced") return { kind, deltas: Number(deltas), gapMs: Number(gapMs) };
  throw new Error(`no script is called ${model}`);
}

/** Deltas of a complete answer. */
export function deltasOf(script: Script): number {
  if (script.kind === "paced" || script.kind === "burst") return script.deltas;
  return isWhole(script) ? 0 : endless;
}

/** Answered with one JSON body. */
export const isWhole = ({ kind }: Script): boolean => kind === "json" || kind === "outage";
