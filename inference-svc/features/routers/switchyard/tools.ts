/** Finds the purpose and the outcome of tool calls in a conversation. Fields of items take precedence over words in outputs. */
import { callTypeByOutput } from "../../../turn/call-pairs.ts";
import type { InputItem } from "../../../turn/request.ts";

export type ToolAction = "write" | "read" | "plan" | "other";

export interface ToolOutcome {
  /** Severity of the outcome: 0 for a success, 0.3 for a soft failure, 0.7 for a hard failure, 1 for a critical one. */
  readonly severity: number;
  /** A key that is equal for calls with the same name, arguments and outcome. */
  readonly key: string;
  /** Whether tests were run and all passed. */
  readonly passed: boolean;
}

export const softSeverity = 0.3;
export const hardSeverity = 0.7;
export const criticalSeverity = 1;

const commandsOf = ({ action }: InputItem): string => {
  const { commands, command } = (action ?? {}) as { commands?: unknown; command?: unknown };
  if (Array.isArray(commands)) return commands.join("\n");
  return Array.isArray(command) ? command.join(" ") : "";
};

const writing =
  /(?:^|[\n;&|])\s?(?:sed -i|perl -i|tee|mv|cp|rm|mkdir|touch|git (?:apply|commit|mv|rm))\b|>>?\s?[\w./~-]/;
const reading = /^(?:cat|ls|grep|rg|find|head|tail|less|sed -n|wc|tree|pwd|git (?:diff|log|show|status|blame))\b/;

const plans: ReadonlySet<string> = new Set(["plan", "todo", "todos", "think"]);
const writes: ReadonlySet<string> = new Set(
  "write,edit,patch,create,insert,replace,save,update,delete,apply,append,move,rename".split(","),
);
const reads: ReadonlySet<string> = new Set(
  "read,view,open,cat,grep,search,find,list,ls,get,fetch,glob,show,query,lookup,browse".split(","),
);

/** The action of a call, judged by its type or by the function's name. @returns undefined for other items */
export function toolActionOf(item: InputItem): ToolAction | undefined {
  const { type } = item;
  if (type === "apply_patch_call") return "write";
  if (type === "shell_call" || type === "local_shell_call") {
    const commands = commandsOf(item);
    if (writing.test(commands)) return "write";
    return reading.test(commands.trimStart()) ? "read" : "other";
  }
  if (!calls.has(type)) return undefined;
  const words = wordsOf(typeof item["name"] === "string" ? item["name"] : type);
  if (words.some((word) => plans.has(word))) return "plan";
  if (words.some((word) => writes.has(word))) return "write";
  return words.some((word) => reads.has(word)) ? "read" : "other";
}

const calls: ReadonlySet<string> = new Set([
  ...callTypeByOutput.values(),
  "mcp_call",
  "web_search_call",
  "file_search_call",
]);

const wordsOf = (name: string): readonly string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/);

/** Outcome of a tool call by the item with its result. @param call the item of the call @returns undefined for items other than results */
export function findToolOutcome(item: InputItem, call: InputItem | undefined): ToolOutcome | undefined {
  if (!callTypeByOutput.has(item.type) && item.type !== "mcp_call") return undefined;
  const text = textOf(item);
  const severity = Math.max(severityOfFields(item, text), severityOfText(text));
  const { name, arguments: args, input, action, operation } = call ?? item;
  return {
    severity,
    key: JSON.stringify([item.type, name, args, input, action, operation, text]),
    passed: severity === 0 && passed.test(text),
  };
}

/** UTF-16 units of an output that are read at each end. */
const maxRead = 8_000;

function textOf(item: InputItem): string {
  const { output, error } = item;
  const text = typeof output === "string" ? output : partsOf(output).join("\n");
  const all = typeof error === "string" ? `${text}\n${error}` : text;
  return all.length <= 2 * maxRead ? all : `${all.slice(0, maxRead)}\n${all.slice(-maxRead)}`;
}

const partsOf = (output: unknown): readonly string[] =>
  Array.isArray(output)
    ? output.flatMap((part: Readonly<Record<string, unknown>> | null) =>
        [part?.["text"], part?.["stdout"], part?.["stderr"]].filter((text) => typeof text === "string"),
      )
    : [];

interface ShellOutput {
  readonly stdout?: unknown;
  readonly stderr?: unknown;
  readonly outcome?: { readonly type?: unknown; readonly exit_code?: unknown };
}

function severityOfFields(item: InputItem, text: string): number {
  const { type, status, output, error } = item;
  if (type === "apply_patch_call_output" && status === "failed") return hardSeverity;
  if (status === "incomplete" || (type === "mcp_call" && error)) return hardSeverity;
  if (type === "shell_call_output" && Array.isArray(output)) {
    return Math.max(0, ...(output as readonly (ShellOutput | null)[]).map((one) => severityOfOutcome(one ?? {})));
  }
  return typeof output === "string" ? severityOfJson(text) : 0;
}

function severityOfOutcome({ stdout, stderr, outcome }: ShellOutput): number {
  if (outcome?.type === "timeout") return hardSeverity;
  if (typeof outcome?.exit_code !== "number" || outcome.exit_code === 0) return 0;
  // A shell command that searches ends with code 1 and no output when there is no match.
  return outcome.exit_code === 1 && !stdout && !stderr ? 0 : hardSeverity;
}

/** Severity by the exit code in a JSON output, as functions and older shells return it. */
function severityOfJson(text: string): number {
  if (!text.trimStart().startsWith("{")) return 0;
  try {
    const value = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const metadata = (value["metadata"] ?? {}) as Readonly<Record<string, unknown>>;
    const code = value["exit_code"] ?? value["exitCode"] ?? metadata["exit_code"];
    const isFailure =
      Boolean(value["error"]) || value["is_error"] === true || value["isError"] === true || value["success"] === false;
    return isFailure || (typeof code === "number" && code !== 0) ? hardSeverity : 0;
  } catch {
    return 0;
  }
}

const criticalWords = /\b(?:segmentation fault|core dumped|out of memory|no space left on device)\b/i;
const hardWords =
  /\bTraceback \(most recent call last\)|^(?:fatal|panic): |\bunhandled exception\b|\bcommand not found\b|\bpermission denied\b|\bBUILD FAILED\b/im;
/** Matches words of soft failures, but not `0 failed` and `failed: 0`. */
const softWords =
  /^[ \t]{0,8}(?:error|exception|failed|failure)\b(?!s?\W{1,3}0\b)|(?<![\d.])[1-9]\d{0,6} (?:tests? )?(?:failed|failing|failures?|errors?)\b/im;
const passed = /(?<![\d.])[1-9]\d{0,6} (?:tests? )?pass(?:ed|ing)\b|\ball (?:\d{1,7} )?tests? pass/i;

function severityOfText(text: string): number {
  if (criticalWords.test(text)) return criticalSeverity;
  if (hardWords.test(text)) return hardSeverity;
  return softWords.test(text) ? softSeverity : 0;
}
