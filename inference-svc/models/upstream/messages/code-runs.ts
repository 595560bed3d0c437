/** Code the provider runs: the call is one block, and its output another. */
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { WholeItemWriter } from "../events/item-writer.ts";
import type { Output } from "../events/output.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { type BlockReader, readInput } from "./block-reader.ts";

interface Run {
  readonly writer: WholeItemWriter;
  readonly index: number;
  code: string;
}

/** Names of the model's tools for running code; clients see them as one tool. */
const names: ReadonlySet<unknown> = new Set(["code_execution", "bash_code_execution", "text_editor_code_execution"]);

export class CodeRuns {
  readonly #output: Output;
  readonly #outputs: boolean;
  readonly #containerId: string;
  readonly #running = new Map<unknown, Run>();

  /**
   * @param outputs whether the client requested the printed output
   * @param containerId id of the container the client named
   */
  constructor(output: Output, outputs: boolean, containerId = "") {
    this.#output = output;
    this.#outputs = outputs;
    this.#containerId = containerId;
  }

  /** Begins the item of a call. @returns undefined for other server tools */
  begin(block: JsonObject): BlockReader | undefined {
    if (!names.has(block.name)) return undefined;
    // A call whose id is used again gets no output any more: the output belongs to the new call.
    const abandoned = this.#running.get(block.id);
    if (abandoned) this.#finish(abandoned, "failed", "");
    const index = this.#output.count;
    const blank = { code: null, container_id: this.#containerId, outputs: null };
    const item = { type: "code_interpreter_call", id: newId("ci_"), status: "in_progress", ...blank };
    const run: Run = { writer: this.#output.other(item), index, code: "" };
    this.#running.set(block.id, run);
    this.#progress("in_progress", index);
    let json = "";
    return {
      delta(delta) {
        json += text(delta.partial_json);
      },
      stop: () => {
        run.code = codeOf(readInput(block, json));
        this.#progress("interpreting", index);
      },
    };
  }

  /** Ends a call by a block of a type that ends in `code_execution_tool_result`. */
  ended({ tool_use_id: id, content }: JsonObject): void {
    const run = this.#running.get(id);
    if (!run) return;
    this.#running.delete(id);
    const result: JsonObject = isObject(content) ? content : {};
    const failed =
      text(result.error_code) !== "" || (typeof result.return_code === "number" && result.return_code !== 0);
    if (!failed) this.#progress("completed", run.index);
    const printed = [text(result.stdout), text(result.stderr), text(result.content), text(result.error_code)];
    this.#finish(run, failed ? "failed" : "completed", printed.filter((each) => each !== "").join("\n"));
  }

  /** Ends all calls. Code without output at the end has failed, unless the provider has paused it. */
  end(paused: boolean): void {
    for (const run of this.#running.values()) this.#finish(run, paused ? "incomplete" : "failed", "");
    this.#running.clear();
  }

  #finish({ writer, code }: Run, status: "completed" | "failed" | "incomplete", printed: string): void {
    const logs = printed === "" ? [] : [{ type: "logs", logs: printed }];
    writer.end("completed", { status, code, outputs: this.#outputs ? logs : null });
  }

  #progress(step: string, index: number): void {
    this.#output.native(`response.code_interpreter_call.${step}`, {}, index);
  }
}

/** The code of a call. Commands that edit files have none, and are reported unchanged. */
function codeOf(input: unknown): string {
  if (!isObject(input)) return "";
  return text(input.code) || (Object.keys(input).length === 1 ? text(input.command) : "") || JSON.stringify(input);
}
