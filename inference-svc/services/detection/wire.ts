/** Types shared by all detector services: detections, failures and the form of a call. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { TurnSignal } from "../../turn/signal.ts";

/** A finding in a text. */
export interface Detection extends TextSpan {
  /** Category of the configuration file. */
  readonly category: string;
  /** 0 to 1. */
  readonly score: number;
}

/** The detector gave no answer, which never counts as a clean text. */
export class DetectorUnavailable extends Error {}

export interface PostedAnswer {
  readonly status: number;
  readonly body: string;
}

/** Sends a JSON body to a path of the service. @throws Error without a readable response in time */
export type Post = (
  path: string,
  body: string,
  limits: { readonly signal: TurnSignal; readonly timeoutMs: number },
) => Promise<PostedAnswer>;

/** The protocol of a kind of service. */
export interface DetectorWire {
  /** Kind of the service, as stages name it. */
  readonly kind: "ner" | "classifier" | "moderation";
  readonly path: string;
  /** UTF-16 units per question, unless configured. */
  readonly windowLength: number;
  /** Whether a question that is too long can be split; true when absent. */
  readonly isDivisible?: boolean;
  bodyOf(text: string): string;
  /** @throws NoAnswer for an answer that does not match the text: nothing of it is used then */
  marksOf(answer: unknown, text: string): readonly Detection[];
}
