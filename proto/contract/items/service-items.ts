/** Items that server tools add to an answer. Some of their fields are in camel case on the wire. */
import {
  type ObjectShape,
  type Shape,
  anyValue,
  array,
  described,
  integer,
  nullable,
  object,
  string,
  word,
} from "../../lib/validation/shape.ts";
import { itemShape, itemStatuses } from "./item.ts";
import { containerFileCitation, openObject } from "./parts.ts";

const orFailed = { status: [...itemStatuses, "failed"] } as const;

const text = (description: string): Shape => described(string(), description);
const error = text("Why the tool failed. The response goes on without its result.");
const callId = text("Name of the call, by which a later request continues it.");
const callArguments = text("The call as the model wrote it.");
const container = text("Container in which the tool ran.");
const files = described(array(containerFileCitation, { max: 10 }), "Files that the tool made.");

const source = object({ type: word("url"), url: string() }, { required: ["type", "url"] });

/** Result of the analyst in a fusion run. */
export const fusionAnalysis = object(
  {
    consensus: described(array(string()), "What all models say."),
    contradictions: described(
      array(
        object(
          {
            topic: string(),
            stances: array(object({ model: string(), stance: string() }, { required: ["model", "stance"] })),
          },
          { required: ["topic", "stances"] },
        ),
      ),
      "Where they contradict each other.",
    ),
    partial_coverage: described(
      array(object({ models: array(string()), point: string() }, { required: ["models", "point"] })),
      "What only some of them say.",
    ),
    unique_insights: described(
      array(object({ model: string(), insight: string() }, { required: ["model", "insight"] })),
      "Statements that one of them makes alone.",
    ),
    blind_spots: described(array(string()), "What none of them considers."),
  },
  {
    required: ["consensus", "contradictions", "partial_coverage", "unique_insights", "blind_spots"],
    description: "The answers of a panel, compared.",
  },
);

const fusion = itemShape("service:fusion", "Several models answered, one compared their answers.", {
  responses: described(
    array(object({ model: string(), content: string() }, { required: ["model"] })),
    "Answers of the panel.",
  ),
  failed_models: described(
    array(object({ model: string(), error: string(), status_code: integer() }, { required: ["model", "error"] })),
    "Models that gave none, and why.",
  ),
  analysis: fusionAnalysis,
  sources: described(
    array(object({ title: string(), url: string() }, { required: ["title", "url"] })),
    "Pages on which the answers rest.",
  ),
  error,
  failure_reason: described(
    word("all_panels_failed", "insufficient_credits", "rate_limited", "fusion_invocation_capped", "unexpected_error"),
    "Why the whole run failed.",
  ),
});

const webSearch = itemShape("service:web_search", "A search that the service made.", {
  action: object(
    {
      type: word("search"),
      query: text("What was searched for."),
      sources: described(array(source), "Pages that were found."),
    },
    { required: ["type", "query"] },
  ),
  error,
});

const webFetch = itemShape("service:web_fetch", "A page that the service read.", {
  url: text("Address of the page."),
  title: text("Its title."),
  content: text("Its text."),
  httpStatus: described(integer(), "Status with which the page was answered."),
  error,
});

const datetime = itemShape(
  "service:datetime",
  "The present time.",
  {
    datetime: text("ISO 8601 with the offset of the zone."),
    timezone: text("IANA name of the zone."),
    error: text("Why the tool failed. The time is empty then."),
  },
  { required: ["datetime", "timezone"] },
);

const imageGeneration = itemShape("service:image_generation", "An image that the service had made.", {
  prompt: text("What was asked for."),
  revisedPrompt: text("What the image model made of it."),
  imageUrl: text("Address of the image."),
  imageB64: text("The image in base64."),
  result: described(nullable(string()), "The image, as an address or in base64."),
  error,
});

const advisor = itemShape(
  "service:advisor",
  "Advice of another model.",
  {
    prompt: text("What it was asked."),
    advice: text("Its answer."),
    model: text("The model."),
    instance_name: text("Which advisor, when the request has several."),
    error,
  },
  orFailed,
);

const subagent = itemShape(
  "service:subagent",
  "A task that another model worked on.",
  {
    call_id: callId,
    task_name: text("Name of the task."),
    task_description: text("The task."),
    outcome: text("What came of it."),
    model: text("The model."),
    name: text("Name of the subagent."),
    instance_name: text("Which subagent, when the request has several."),
    error,
  },
  orFailed,
);

const filesItem = itemShape("service:files", "An operation on the files of the request.", {
  operation: text("What was done: list, read or search."),
  file_id: text("Identifier of the file."),
  filename: text("Its name."),
  result: described(anyValue, "What the operation gave."),
  error,
  call_id: callId,
  arguments: callArguments,
});

const shell = itemShape(
  "service:shell",
  "Commands that the service ran.",
  {
    action: described(openObject, "The commands."),
    output: described(array(openObject), "What they printed."),
    call_id: callId,
    arguments: callArguments,
    container_id: container,
    files,
    error,
  },
  orFailed,
);

const bash = itemShape(
  "service:bash",
  "A command that the service ran.",
  {
    command: text("The command."),
    stdout: text("What it printed."),
    stderr: text("What it printed as errors."),
    exitCode: described(integer(), "Its exit code."),
    call_id: callId,
    arguments: callArguments,
    container_id: container,
    files,
    error,
  },
  orFailed,
);

const codeInterpreter = itemShape("service:code_interpreter", "Code that the service ran.", {
  code: text("The code."),
  language: text("Its language."),
  stdout: text("What it printed."),
  stderr: text("What it printed as errors."),
  exitCode: described(integer(), "Its exit code."),
  container_id: container,
  error,
});

/** Items that server tools make, by type. */
export const serviceItems = {
  "service:web_search": webSearch,
  "service:web_fetch": webFetch,
  "service:datetime": datetime,
  "service:image_generation": imageGeneration,
  "service:fusion": fusion,
  "service:advisor": advisor,
  "service:subagent": subagent,
  "service:files": filesItem,
  "service:search_models": itemShape("service:search_models", "A search in the catalogue.", {
    query: text("What was searched for."),
    arguments: callArguments,
    error,
  }),
  "service:tool_search": itemShape("service:tool_search", "A search for tools that were held back.", {
    query: text("What was searched for."),
    error,
    tool: text("Name of the tool by which Anthropic searched itself."),
    tool_references: described(array(string()), "Names of the tools that Anthropic found."),
  }),
  "service:shell": shell,
  "service:bash": bash,
  "service:apply_patch": itemShape("service:apply_patch", "A change of a file.", {
    call_id: callId,
    operation: described(openObject, "The change."),
  }),
  "service:code_interpreter": codeInterpreter,
  "service:file_search": itemShape("service:file_search", "A search in stored files.", {
    queries: described(array(string()), "What was searched for."),
  }),
  "service:mcp": itemShape("service:mcp", "A call of an MCP tool.", {
    serverLabel: text("Name of the server."),
    toolName: text("Name of the tool."),
  }),
  "service:memory": itemShape("service:memory", "An operation on the memory.", {
    action: described(word("read", "write", "delete"), "What was done."),
    key: text("What it is kept under."),
    value: text("What is kept."),
  }),
  "service:browser_use": itemShape("service:browser_use", "A step in a browser.", {
    action: text("What was done."),
    screenshotB64: text("What the page looked like, in base64."),
  }),
  "service:text_editor": itemShape("service:text_editor", "A step in an editor.", {
    command: described(word("view", "create", "str_replace", "insert"), "What was done."),
    filePath: text("The file."),
  }),
} as const satisfies Readonly<Record<string, ObjectShape>>;
