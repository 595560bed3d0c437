/** Collects the results of the tool calls in one answer of the model. */
import type { CallableTool, FoundFile, InputItem, WebSource } from "../../turn/request.ts";
import type { OutputItem } from "../../turn/turn.ts";
import type { ToolResult } from "../tool.ts";
import type { CalledTool } from "./model-answer.ts";

export class CallResults {
  /** Tool outputs for the model. */
  readonly outputs: InputItem[] = [];
  /** Deferred tools found by a search tool. */
  readonly loads: CallableTool[] = [];
  /** Web pages read by the calls. */
  readonly sources: WebSource[] = [];
  /** Stored files found by the calls. */
  readonly files: FoundFile[] = [];
  /** Function calls for the client. Suspended calls wait for their results. */
  readonly waitsFor: OutputItem[] = [];
  completed = 0;

  add({ callId }: CalledTool, result: ToolResult): void {
    this.waitsFor.push(...(result.waitsFor ?? []));
    if (!result.waitsFor) this.outputs.push(callOutput(callId, result.output));
    this.loads.push(...(result.loads ?? []));
    this.sources.push(...(result.sources ?? []));
    this.files.push(...(result.files ?? []));
    if (!result.failed) this.completed++;
  }
}

/** The output of a call for the model. */
export const callOutput = (callId: string, output: string): InputItem => ({
  type: "function_call_output",
  call_id: callId,
  output,
});
