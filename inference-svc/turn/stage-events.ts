/** The stages of a turn, each told to its span as soon as it is known. */
import type { Span } from "@sluice/proto/runtime/tracing/span.js";
import type { Stage } from "./scope.ts";

export class StageEvents extends Array<Stage> {
  readonly #span: Span;

  constructor(span: Span) {
    super();
    this.#span = span;
  }

  /** Lists that are made of this one tell nobody. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  override push(...stages: Stage[]): number {
    for (const { type, name, guardrail_id: guardrail } of stages) {
      this.#span.event(type, { "sluice.stage.name": name, "sluice.guardrail.id": guardrail });
    }
    return super.push(...stages);
  }
}
