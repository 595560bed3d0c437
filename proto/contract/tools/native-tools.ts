/** Tools run by the provider, and tools in a provider's own format with calls for the client. */
import {
  type Shape,
  boolean,
  array,
  described,
  integer,
  lazy,
  map,
  named,
  nullable,
  number,
  object,
  string,
  stringOr,
  tagged,
  word,
} from "../../lib/validation/shape.ts";
import { openObject } from "../items/parts.ts";
import {
  atLeastOne,
  autoContainer,
  domains,
  environment,
  maxResults,
  nativeEnvironment,
  neverDeferred,
  searchContextSize,
  searchEngine,
  typedUserLocation,
  userLocation,
  xSearch,
} from "./tool-settings.ts";

const anthropicType = described(
  nullable(string({ pattern: { form: /^(?:web_search|code_execution)_\d{8}$/, message: "a dated type of the tool" } })),
  "The version of the tool at Anthropic, such as web_search_20260209.",
);

const webSearch = (type: string, location: Shape): Shape =>
  object(
    {
      type: word(type),
      search_context_size: nullable(searchContextSize),
      filters: nullable(
        object({
          allowed_domains: nullable(domains),
          blocked_domains: nullable(domains),
          excluded_domains: nullable(domains),
        }),
      ),
      user_location: nullable(location),
      external_web_access: nullable(boolean),
      engine: nullable(searchEngine),
      max_results: nullable(maxResults),
      max_uses: nullable(atLeastOne),
      mode: nullable(string()),
      x_search: nullable(xSearch),
      anthropic_type: anthropicType,
    },
    { required: ["type"], description: "Searches the web." },
  );

const imageGeneration = object(
  {
    type: word("image_generation"),
    model: nullable(string()),
    quality: nullable(word("low", "medium", "high", "auto")),
    size: nullable(string()),
    background: nullable(word("transparent", "opaque", "auto")),
    input_fidelity: nullable(word("high", "low")),
    input_image_mask: nullable(object({ image_url: nullable(string()), file_id: nullable(string()) })),
    moderation: nullable(word("auto", "low")),
    output_format: nullable(word("png", "webp", "jpeg")),
    output_compression: nullable(integer({ min: 0, max: 100 })),
    partial_images: nullable(integer({ min: 0, max: 3 })),
  },
  { required: ["type"], description: "Makes images." },
);

const codeInterpreter = object(
  {
    type: word("code_interpreter"),
    container: stringOr(string({ min: 1 }), autoContainer, "must be a string or an object"),
    anthropic_type: anthropicType,
  },
  { required: ["type", "container"], description: "Runs Python in a container of the provider or the sandbox." },
);

const filter: Shape = tagged(
  "type",
  {
    ...Object.fromEntries(
      ["eq", "ne", "gt", "gte", "lt", "lte"].map((type) => [
        type,
        object(
          {
            type: word(type),
            key: string({ min: 1 }),
            value: {
              check: (value, path, problems) => {
                if (value === null || value === undefined || (typeof value === "object" && !Array.isArray(value))) {
                  problems.add(path, "must be a string, a number, true, false or an array");
                }
              },
              schema: () => ({ type: ["string", "number", "boolean", "array"], items: {} }),
            },
          },
          { required: ["type", "key", "value"] },
        ),
      ]),
    ),
    ...Object.fromEntries(
      ["and", "or"].map((type) => [
        type,
        object(
          {
            type: word(type),
            filters: array(
              lazy(() => fileFilter),
              { min: 1 },
            ),
          },
          { required: ["type", "filters"] },
        ),
      ]),
    ),
  },
  { listed: true },
);
const fileFilter = named("FileSearchFilter", filter);

const fileSearch = object(
  {
    type: word("file_search"),
    vector_store_ids: array(string({ min: 1 }), { min: 1, entry: "id" }),
    max_num_results: nullable(integer({ min: 1, max: 50 })),
    ranking_options: nullable(
      object({ ranker: nullable(string()), score_threshold: nullable(number({ min: 0, max: 1 })) }),
    ),
    filters: nullable(fileFilter),
  },
  {
    required: ["type", "vector_store_ids"],
    description: "Searches vector stores: those of the configuration, else the provider's.",
  },
);

const toolNames = array(string({ min: 1 }));
const someTools = object({ tool_names: nullable(toolNames), read_only: nullable(boolean) });

const mcp = object(
  {
    type: word("mcp"),
    server_label: described(string({ min: 1 }), "By which calls and choices name the server."),
    server_url: nullable(string()),
    connector_id: nullable(string()),
    tunnel_id: nullable(string()),
    server_description: nullable(string()),
    authorization: nullable(string()),
    headers: nullable(map(string())),
    allowed_tools: nullable({
      ...toolNames,
      check: (value, path, problems) => (Array.isArray(value) ? toolNames : someTools).check(value, path, problems),
      schema: (components) => ({ anyOf: [toolNames.schema(components), someTools.schema(components)] }),
    }),
    require_approval: nullable(
      stringOr(
        word("always", "never"),
        object({ always: nullable(someTools), never: nullable(someTools) }),
        "must be always, never or an object",
      ),
    ),
    defer_loading: nullable(boolean),
  },
  {
    required: ["type", "server_label"],
    description:
      "Tools of an MCP server, by server_url, connector_id or tunnel_id; by server_label alone where the operator has named it.",
  },
);

const computerUse = object(
  {
    type: word("computer_use_preview"),
    display_width: atLeastOne,
    display_height: atLeastOne,
    environment: word("windows", "mac", "linux", "ubuntu", "browser"),
  },
  {
    required: ["type", "display_width", "display_height", "environment"],
    description: "Works on a computer by calls that the client carries out.",
  },
);

/** Native tools by type. */
export const nativeTools: Readonly<Record<string, Shape>> = {
  web_search: webSearch("web_search", userLocation),
  web_search_2025_08_26: webSearch("web_search_2025_08_26", userLocation),
  web_search_preview: webSearch("web_search_preview", typedUserLocation),
  web_search_preview_2025_03_11: webSearch("web_search_preview_2025_03_11", typedUserLocation),
  file_search: fileSearch,
  computer_use_preview: computerUse,
  computer: object(
    { type: word("computer") },
    { required: ["type"], description: "Works on a computer by calls that the client carries out." },
  ),
  code_interpreter: codeInterpreter,
  mcp,
  image_generation: imageGeneration,
  local_shell: object({ type: word("local_shell") }, { required: ["type"], description: "A shell of the client." }),
  shell: object(
    { type: word("shell"), environment: nullable(nativeEnvironment) },
    {
      required: ["type"],
      description: "A shell of the client, or with a container one of the provider or the sandbox.",
    },
  ),
  bash: object(
    { type: word("bash"), engine: nullable(word("auto", "native", "service")), environment: nullable(environment) },
    { required: ["type"], description: "Another name of service:bash." },
  ),
  apply_patch: object({ type: word("apply_patch") }, { required: ["type"], description: "Changes files." }),
  tool_search: object(
    {
      type: word("tool_search"),
      execution: nullable(word("client", "server")),
      description: nullable(string()),
      parameters: nullable(openObject),
      defer_loading: neverDeferred,
    },
    { required: ["type"], description: "Finds tools that are held back." },
  ),
};
