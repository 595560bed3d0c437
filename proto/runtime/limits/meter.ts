/** How many tokens a turn has used: as it says at its end, or, when it comes to none, as many as its bytes suggest. */
import type { RunTurnRequest, TurnEvent } from "../../gen/sluice/inference/v1/turn_pb.ts";

/** Of English; other scripts are near enough for a limit by the minute. */
const bytesPerToken = 4;
/** Pictures come as long texts and are few tokens. */
const mostInputTokens = 200_000;

export class TokenMeter {
  readonly #inputBytes: number;
  #outputLength = 0;
  #told: number | undefined;

  constructor({ inputJson, toolsJson, instructions }: RunTurnRequest) {
    this.#inputBytes = inputJson.length + toolsJson.length + (instructions?.length ?? 0);
  }

  note(events: readonly TurnEvent[]): void {
    for (const { event } of events) {
      if (event.case === "end" && event.value.usage) this.#tell(event.value.usage);
      else if (event.case === "usage") this.#tell(event.value);
      else if (event.value && "delta" in event.value) this.#outputLength += event.value.delta.length;
    }
  }

  /** @param left whether the client left: then a provider was at work, though nobody heard how far it came */
  tokens(left: boolean): number {
    if (this.#told !== undefined) return this.#told;
    if (!left && this.#outputLength === 0) return 0;
    const input = Math.min(mostInputTokens, Math.ceil(this.#inputBytes / bytesPerToken));
    return input + Math.ceil(this.#outputLength / bytesPerToken);
  }

  #tell({ inputTokens, outputTokens }: { readonly inputTokens: number; readonly outputTokens: number }): void {
    this.#told = inputTokens + outputTokens;
  }
}
