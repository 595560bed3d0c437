/** Shape of `tool_choice`: the tools the model may or must call. */
import {
  type Shape,
  array,
  described,
  named,
  nullable,
  object,
  string,
  stringOr,
  tagged,
  word,
} from "../../lib/validation/shape.ts";
import { notNested, tool } from "./tools.ts";

const name = string({ min: 1 });

const byName = (type: string): Shape => object({ type: word(type), name }, { required: ["type", "name"] });

const byServer = object(
  { type: word("mcp"), server_label: name, name: nullable(name) },
  { required: ["type", "server_label"] },
);

const unnamed = [...tool.kinds.keys()].filter((kind) => !["function", "custom", "namespace", "mcp"].includes(kind));

/** References to a tool of the request by its type, and by its name when a type may occur several times. */
const references: Readonly<Record<string, Shape>> = {
  function: notNested(byName("function"), "name belongs beside type, not inside function"),
  custom: byName("custom"),
  namespace: byName("namespace"),
  mcp: byServer,
  ...Object.fromEntries(unnamed.map((kind) => [kind, object({ type: word(kind) }, { required: ["type"] })])),
};

const allowedTools = object(
  {
    type: word("allowed_tools"),
    mode: described(word("auto", "required"), "Whether one of them must be called."),
    tools: array(tagged("type", references), { min: 1, entry: "tool" }),
  },
  { required: ["type", "mode", "tools"], description: "No other tool may be called." },
);

export const toolChoice = named(
  "ToolChoice",
  stringOr(
    {
      ...word("auto", "none", "required"),
      check: (value, path, problems) => {
        if (value === "auto" || value === "none" || value === "required") return;
        problems.add(path, "must be one of auto, none, required, or an object that names a tool");
      },
    },
    tagged("type", { ...references, allowed_tools: allowedTools }),
    "must be one of auto, none, required, or an object that names a tool",
  ),
);
