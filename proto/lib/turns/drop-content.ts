/**
 * Drops the content of a request after it has been parsed: its turn may last an hour, and the request may have 32 MiB.
 */
import type { RunTurnRequest } from "../../gen/sluice/inference/v1/turn_pb.ts";

const empty = new Uint8Array(0);

/**
 * Keeps only the fields that records and receipts need. All JSON is dropped, however short, because each field is a
 * view of the whole message and would keep it in memory. `trace_json` becomes a copy, which a span reads at the end of
 * the turn.
 */
export function dropContent(request: RunTurnRequest): void {
  request.inputJson = empty;
  request.toolsJson = empty;
  request.toolChoiceJson = empty;
  request.textFormatJson = empty;
  request.reasoningJson = empty;
  request.imageConfigJson = empty;
  request.promptCacheOptionsJson = empty;
  request.stopServerToolsWhenJson = empty;
  request.predictionJson = empty;
  request.contextManagementJson = empty;
  request.extraJson = empty;
  if (request.traceJson.length > 0) request.traceJson = new Uint8Array(request.traceJson);
  if (request.plugins.length > 0) request.plugins = [];
  if (request.instructions !== undefined) request.instructions = "";
}
