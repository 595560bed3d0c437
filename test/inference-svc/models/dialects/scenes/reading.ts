/** Reads answers of a provider like the code of a provider call: in reads of any size, from a buffer that the next read overwrites. */
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import type { Dialect, Target, Translator } from "@sluice/inference-svc/models/upstream/dialect.js";
import { openAnswer } from "@sluice/inference-svc/models/upstream/events/answer.js";
import { ResponseHead } from "@sluice/inference-svc/models/upstream/transport/http/response-head.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";

export interface Source {
  readonly dialect: Dialect;
  readonly target: Target;
  readonly request: TurnRequest;
}

/**
 * Returns the events of each read as they become known, and the translator.
 * @throws Fault, after all earlier events
 */
export function readAtBoundaries(
  { dialect, target, request }: Source,
  type: string,
  reads: readonly Uint8Array[],
  onBatch: (batch: TurnEvent[], translator: Translator) => void,
): void {
  let batch: TurnEvent[] = [];
  const translator = dialect.open(request, target, (event) => batch.push(event));
  const head = new ResponseHead(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n\r\n`);
  const fault = () => new Fault(FaultReason.PROVIDER_FAILED);
  const answer = openAnswer(head, { stream: true, framing: dialect.framing, fault }, translator);
  const buffer = Buffer.alloc(Math.max(0, ...reads.map(({ length }) => length)));
  const step = (act: () => void) => {
    try {
      act();
    } finally {
      onBatch(batch, translator);
      batch = [];
    }
  };
  for (const bytes of reads) {
    buffer.set(bytes);
    step(() => answer.feed(buffer.subarray(0, bytes.length)));
  }
  step(() => answer.end());
}

/** Cuts bytes into reads. @param cuts places, taken modulo the length */
export function cutBytes(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const borders = [...new Set([0, ...cuts.map((at) => at % bytes.length), bytes.length])].sort((a, b) => a - b);
  return borders.slice(1).map((border, position) => bytes.subarray(borders[position], border));
}
