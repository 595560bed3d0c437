/** One text of an answer that comes in deltas: as it came, and as it is delivered. */
import type { Region } from "../../turn/replaced.ts";

/** The strand and the item that a text belongs to. */
export interface Membership {
  /** Name of the strand: clients join its texts, whatever comes between them. */
  readonly strand: string;
  /** The item, compared by identity. */
  readonly item: unknown;
}

export class Part<Key = unknown> {
  readonly key: Key;
  readonly of: Membership;
  /** Hands out text that may be delivered, never half a character. */
  readonly deliver: (text: string) => void;
  /** Place of its first character in the channel; undefined before that has come. */
  start: number | undefined;
  raw = "";
  shown = "";
  /** Stretches that were replaced, by places in `raw`. */
  readonly replaced: Region[] = [];

  constructor(key: Key, of: Membership, deliver: (text: string) => void) {
    this.key = key;
    this.of = of;
    this.deliver = deliver;
  }
}
