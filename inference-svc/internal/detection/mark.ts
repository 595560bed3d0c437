/** What a detector beside the house finds, and what it says when it does not answer. */
import type { Span } from "@sluice/proto/runtime/pattern/finder.js";
import type { TurnSignal } from "../../turn/signal.ts";

/** Something found in a text. */
export interface Mark extends Span {
  /** As the house file calls it. */
  readonly category: string;
  /** 0 to 1. */
  readonly score: number;
}

/** It was not looked: nobody may take that for a clean text. */
export class NoAnswer extends Error {}

export interface Posted {
  readonly status: number;
  readonly body: string;
}

/** Sends a JSON body to a path of the service. @throws Error when nothing that can be read comes back in time */
export type Post = (
  path: string,
  body: string,
  limits: { readonly signal: TurnSignal; readonly timeoutMs: number },
) => Promise<Posted>;

/** How a kind of service is asked. */
export interface Wire {
  /** What it is, as stages have it. */
  readonly kind: "ner" | "classifier" | "moderation";
  readonly path: string;
  /** UTF-16 units that are asked at a time, where the operator does not say. */
  readonly windowLength: number;
  bodyOf(text: string): string;
  /** @throws NoAnswer for what is no answer to that text: nothing of it is believed then */
  marksOf(answer: unknown, text: string): readonly Mark[];
}
