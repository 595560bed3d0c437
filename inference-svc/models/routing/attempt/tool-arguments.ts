/** Checks the arguments of a model's tool calls, for the endpoint's rate of valid calls. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { SchemaChecker, UncheckableSchema } from "../../../content/json-schema/schema.ts";
import type { FunctionTool, TurnRequest } from "../../../turn/request.ts";
import type { Yielding } from "../../../turn/time-slice.ts";
import type { Batch, OutputItem, TurnEvent } from "../../../turn/turn.ts";
import type { ToolCallSuccess } from "../records/tool-calls.ts";

/** Maximum UTF-16 units of arguments checked. */
const maxLength = 64 * 1024;
/** Maximum pauses of a check before it is given up: some 2,000 steps, which take a millisecond at most. */
const maxPauses = 32;

/** Observes the tool calls of one answer. */
export class ToolCallMeter {
  readonly #tools: ReadonlyMap<string, FunctionTool>;
  readonly #success: ToolCallSuccess;
  readonly #now: () => number;

  /** @returns undefined for a request without functions */
  static of({ tools }: TurnRequest, success: ToolCallSuccess, now: () => number): ToolCallMeter | undefined {
    const functions = tools.filter((tool) => tool.type === "function");
    return functions.length === 0 ? undefined : new ToolCallMeter(functions, success, now);
  }

  private constructor(functions: readonly FunctionTool[], success: ToolCallSuccess, now: () => number) {
    this.#tools = new Map(functions.map((tool) => [tool.name, tool]));
    this.#success = success;
    this.#now = now;
  }

  note(batch: Batch): void {
    for (const event of batch) {
      const fits = isWholeCall(event) ? this.#fits(event.item) : undefined;
      if (fits !== undefined) this.#success.add(fits, this.#now());
    }
  }

  /** Whether the arguments fit the function's schema; undefined if this cannot be checked. */
  #fits({ name, arguments: text }: OutputItem): boolean | undefined {
    const tool = this.#tools.get(String(name));
    if (tool === undefined) return false;
    if (typeof text !== "string" || text.length > maxLength) return undefined;
    try {
      const values: unknown = JSON.parse(text || "{}");
      return isObject(values) && fitsSchema(tool, values);
    } catch (error) {
      if (error instanceof SyntaxError) return false;
      if (error instanceof UncheckableSchema) return undefined;
      throw error;
    }
  }
}

const isWholeCall = (event: TurnEvent): event is Extract<TurnEvent, { type: "item.end" }> =>
  event.type === "item.end" && event.item.type === "function_call" && event.item["status"] !== "incomplete";

/** Whether the arguments fit the function's schema. @throws UncheckableSchema */
function fitsSchema({ parametersJson }: FunctionTool, values: unknown): boolean {
  const schema = JSON.parse(parametersJson) as unknown;
  return schema === null || runBriefly(new SchemaChecker(schema).fits(schema, values));
}

/** Runs a check to its end, without pauses. @throws UncheckableSchema if the work takes too long */
function runBriefly<Result>(work: Yielding<Result>): Result {
  for (let pauses = 0; pauses < maxPauses; pauses++) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
  throw new UncheckableSchema();
}
