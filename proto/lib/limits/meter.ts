/** Counts the tokens of a turn: the usage that the provider reports, or else an estimate from the size of its texts. */
import type { RunTurnRequest, TurnEvent } from "../../gen/sluice/inference/v1/turn_pb.ts";
import type { TurnListener } from "../lane/turn-listener.ts";

/** Estimated bytes per token, as in English text; accurate enough for other scripts in a limit per minute. */
const bytesPerToken = 4;
/** Maximum of the estimate for the input, because images are long texts but few tokens. */
const maxInputTokens = 200_000;

/** The parts of a request whose texts are estimated as input. */
export type MeteredRequest = Pick<RunTurnRequest, "inputJson"> &
  Partial<Pick<RunTurnRequest, "toolsJson" | "instructions">>;

export class TokenMeter {
  readonly #inputBytes: number;
  #outputLength = 0;
  #reportedTokens: number | undefined;

  constructor({ inputJson, toolsJson, instructions }: MeteredRequest) {
    this.#inputBytes = inputJson.length + (toolsJson?.length ?? 0) + (instructions?.length ?? 0);
  }

  note(events: readonly TurnEvent[]): void {
    for (const { event } of events) {
      if (event.case === "end" && event.value.usage) this.noteUsage(event.value.usage);
      else if (event.case === "usage") this.noteUsage(event.value);
      else if (event.value && "delta" in event.value) this.#outputLength += event.value.delta.length;
    }
  }

  /**
   * Number of tokens of the turn. @param left whether the client disconnected: a provider was working although the end
   * of its answer was not seen
   */
  tokens(left: boolean): number {
    if (this.#reportedTokens !== undefined) return this.#reportedTokens;
    if (!left && this.#outputLength === 0) return 0;
    const input = Math.min(maxInputTokens, Math.ceil(this.#inputBytes / bytesPerToken));
    return input + Math.ceil(this.#outputLength / bytesPerToken);
  }

  noteUsage({ inputTokens, outputTokens }: { readonly inputTokens: number; readonly outputTokens: number }): void {
    this.#reportedTokens = inputTokens + outputTokens;
  }
}

/** Wraps a listener so its events are counted. */
export const withTokenMeter = (meter: TokenMeter, listener: TurnListener): TurnListener => ({
  accepted: () => listener.accepted?.(),
  events: (events, cost) => {
    meter.note(events);
    listener.events(events, cost);
  },
  ended: () => listener.ended(),
  failed: (fault, accepted) => listener.failed(fault, accepted),
});
