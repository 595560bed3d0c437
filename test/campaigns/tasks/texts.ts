/** Requests for training and measuring, from fixtures/tasks. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Task } from "@sluice/inference-svc/features/routers/auto/tasks/tasks.js";
import type { InputItem, Tool, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Random } from "../../support/random.ts";
import { root } from "../../support/processes.ts";

export interface Example {
  readonly task: Task;
  /** A line of the file, with its marks, instructions and choices. */
  readonly line: string;
}

export interface TaskFixture {
  readonly examples: readonly Example[];
  /** Lists of replacements, by the name that a line has in braces. */
  readonly lists: ReadonlyMap<string, readonly string[]>;
}

/** @param name name of the file without its extension */
export function readFixture(name: string): TaskFixture {
  const lines = readFileSync(join(root, "test", "fixtures", "tasks", `${name}.txt`), "utf8").split("\n");
  const lists = new Map<string, readonly string[]>();
  const examples: Example[] = [];
  let task: Task | undefined;
  for (const line of lines) {
    const [, list, values] = /^@(\w+) = (.+)$/.exec(line) ?? [];
    const [, heading] = /^\/\/ (\S+)$/.exec(line) ?? [];
    if (list !== undefined && values !== undefined) lists.set(list, values.split("|"));
    else if (heading !== undefined) task = heading as Task;
    else if (task !== undefined && line !== "" && !line.startsWith("//")) examples.push({ task, line });
  }
  return { examples, lists };
}

/** Replaces each {choice|between|words} and each {list} by one of its entries, choices within choices first. */
export function fillLine(line: string, lists: TaskFixture["lists"], chance: Random): string {
  let text = line;
  for (let depth = 0; depth < 3; depth++) {
    text = text.replace(/\{([^{}]*)\}/g, (_, inner: string) => {
      const list = lists.get(inner);
      return chance.pick(list ?? inner.split("|"));
    });
  }
  return text;
}

const tool = (name: string): Tool => ({ type: "function", name, parametersJson: "{}", json: "{}" });
const toolsOf: Readonly<Record<string, readonly string[]>> = {
  tools: ["get_order", "send_mail"],
  edits: ["edit_file", "bash"],
  browses: ["web_search", "open_page"],
};

/** @param line a line without choices: `[mark][mark] instructions || text` */
export function requestOf(line: string): TurnRequest {
  const [, given = "", rest = ""] = /^((?:\[\w+\])*) ?(.*)$/s.exec(line) ?? [];
  const marks = [...given.matchAll(/\w+/g)].map(([mark]) => mark);
  const [before, after] = rest.split(" || ");
  const text = (after ?? before ?? "").replaceAll("\\n", "\n");
  const parts = [
    { type: "input_text", text },
    ...(marks.includes("image") ? [{ type: "input_image", image_url: "data:image/png;base64,AAAA" }] : []),
    ...(marks.includes("file") ? [{ type: "input_file", filename: "a.pdf", file_data: "data:," }] : []),
  ];
  const message = (role: string, content: unknown): InputItem => ({ type: "message", role, content });
  const call: InputItem[] = [
    { type: "function_call", call_id: "c", name: "bash", arguments: "{}" },
    { type: "function_call_output", call_id: "c", output: "ok" },
  ];
  return {
    models: ["service/auto"],
    input: [
      ...(marks.includes("turns") ? [message("user", "Tell me something."), message("assistant", "Well.")] : []),
      message("user", parts),
      ...(marks.includes("result") ? call : []),
    ],
    ...(after !== undefined && before !== undefined && { instructions: before }),
    ...(marks.includes("schema") && { textFormat: { type: "json_object" } }),
    tools: marks.flatMap((mark) => toolsOf[mark] ?? []).map(tool),
    stream: false,
    include: [],
    outputModalities: [],
    echoUpstreamBody: false,
    serviceMetadata: false,
  };
}
