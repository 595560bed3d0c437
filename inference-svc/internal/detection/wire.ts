/** Types that all detector services share: detections, failures and the form of a call. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { TurnSignal } from "../../turn/signal.ts";

/** Something found in a text. */
export interface Detection extends TextSpan {
  /** Category of the configuration file. */
  readonly category: string;
  /** 0 to 1. */
  readonly score: number;
}

/** The detector gave no answer, which never counts as a clean text. */
export class DetectorUnavailable extends Error {}

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
export interface DetectorWire {
  /** Kind of the service, as stages name it. */
  readonly kind: "ner" | "classifier" | "moderation";
  readonly path: string;
  /** UTF-16 units that are asked at a time, where the operator does not say. */
  readonly windowLength: number;
  /** Whether half of a question that is too long can be asked instead; true when absent. */
  readonly isDivisible?: boolean;
  bodyOf(text: string): string;
  /** @throws NoAnswer for what is no answer to that text: nothing of it is believed then */
  marksOf(answer: unknown, text: string): readonly Detection[];
}
