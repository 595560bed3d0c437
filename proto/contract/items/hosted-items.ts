/** Output items of tools that the provider runs. */
import {
  type ObjectShape,
  anyValue,
  array,
  described,
  integer,
  nullable,
  object,
  string,
  tagged,
  word,
} from "../../lib/validation/shape.ts";
import { callId, itemShape } from "./item.ts";
import { openObject } from "./parts.ts";

const source = object(
  {
    type: word("url"),
    url: string(),
    title: described(string(), "Title of the page, for clients of POST /messages."),
    page_age: described(string(), "Age of the page, likewise."),
  },
  { required: ["type", "url"] },
);

/** Items of hosted tools by type. */
export const webSearchActions = {
  search: object(
    {
      type: word("search"),
      query: described(string(), "What was searched for."),
      queries: described(array(string()), "All queries, when there were several."),
      sources: described(
        array(source),
        "Pages that were found, given with `include: [web_search_call.action.sources]`.",
      ),
    },
    { required: ["type"] },
  ),
  open_page: object({ type: word("open_page"), url: nullable(string()) }, { required: ["type"] }),
  find_in_page: object(
    { type: word("find_in_page"), url: string(), pattern: string() },
    { required: ["type", "url", "pattern"] },
  ),
} as const satisfies Readonly<Record<string, ObjectShape>>;

export const webSearchCall = itemShape(
  "web_search_call",
  "A search that the provider made.",
  { action: described(tagged("type", webSearchActions), "What was done.") },
  { status: ["in_progress", "searching", "completed", "failed", "incomplete"] },
);

export const fileSearchCall = itemShape(
  "file_search_call",
  "A search in vector stores, of the provider or of the operator.",
  {
    queries: described(array(string()), "What was searched for."),
    results: described(
      nullable(array(openObject)),
      "What was found, given with `include: [file_search_call.results]`.",
    ),
  },
  { required: ["queries"], status: ["in_progress", "searching", "completed", "failed", "incomplete"] },
);

export const imageGenerationCall = itemShape(
  "image_generation_call",
  "An image that the provider made.",
  {
    result: described(nullable(string()), "The image in base64."),
    prompt: described(string(), "What the image was made from."),
  },
  { status: ["in_progress", "generating", "completed", "failed", "incomplete"] },
);

export const codeOutput = tagged("type", {
  logs: object({ type: word("logs"), logs: string() }, { required: ["type", "logs"] }),
  image: object({ type: word("image"), url: string() }, { required: ["type", "url"] }),
  file: object({ type: word("file"), filename: nullable(string()) }, { required: ["type"] }),
});

export const codeInterpreterCall = itemShape(
  "code_interpreter_call",
  "Code that the provider ran.",
  {
    code: described(nullable(string()), "The code."),
    container_id: described(string(), "Container in which it ran."),
    outputs: described(
      nullable(array(codeOutput)),
      "What it printed and made, given with `include: [code_interpreter_call.outputs]`.",
    ),
  },
  { status: ["in_progress", "interpreting", "completed", "incomplete", "failed"] },
);

const shellOutcome = tagged("type", {
  exit: object({ type: word("exit"), exit_code: integer() }, { required: ["type", "exit_code"] }),
  timeout: object({ type: word("timeout") }, { required: ["type"] }),
});

export const shellOutput = object(
  { stdout: string(), stderr: string(), outcome: shellOutcome },
  { required: ["stdout", "stderr", "outcome"] },
);

export const shellCallOutput = itemShape(
  "shell_call_output",
  "What commands printed that the provider or the service ran.",
  {
    call_id: callId,
    output: described(array(shellOutput), "One entry for each command."),
    max_output_length: nullable(integer({ min: 0 })),
    container_id: described(nullable(string()), "Container in which they ran."),
    error: described(nullable(string()), "Why they could not be run."),
    files: described(array(openObject), "Files that the tool made."),
  },
  { required: ["call_id", "output"] },
);

const execution = word("client", "server");

export const toolSearchCall = itemShape("tool_search_call", "A search for tools that were held back.", {
  call_id: nullable(string()),
  arguments: anyValue,
  execution,
});

export const toolSearchOutput = itemShape(
  "tool_search_output",
  "Tools that a search found.",
  { call_id: nullable(string()), tools: array(openObject), execution },
  { required: ["tools"] },
);
