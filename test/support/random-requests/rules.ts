/**
 * Rules by which requests are refused although the schema accepts them, since no schema can express these rules. The document states each rule in the
 * words quoted here; a refusal without such a rule is a fault.
 */
import type { Problem } from "@sluice/proto/lib/validation/problems.js";

export interface Rule {
  readonly path: RegExp;
  readonly message: RegExp;
  /** Words of the document that state the rule. */
  readonly stated: string;
}

export const requestRules: readonly Rule[] = [
  { path: /^input$/, message: /^required$/, stated: "`input` is needed" },
  { path: /^input$/, message: /^(at least 1 item|holds nothing to compact)$/, stated: "`input` is needed" },
  { path: /^messages$/, message: /^at least one message with content/, stated: "At least one message has content" },
  {
    path: /^messages\.\d+\.content\.\d+\.tool_use_id$/,
    message: /^no tool_use in the messages before has this id$/,
    stated: "A `tool_result` names a `tool_use` before it",
  },
  { path: /^stream$/, message: /^a compaction is one object/, stated: "one object: `stream: true` is refused" },
  { path: /^model$/, message: /^model or models is required$/, stated: "`model` or `models` names it" },
  { path: /^model$/, message: /^required$/, stated: "`model` is needed unless `models` names one" },
  {
    path: /^messages\.\d+\.(name|tool_call_id)$/,
    message: /in the messages before has this/,
    stated: "A message of role `tool` names a call before it by `tool_call_id`",
  },
  {
    path: /^messages$/,
    message: /^at least 1 item$/,
    stated: "At least one message has a block that is not empty",
  },
  {
    path: /^messages\.\d+\.content\.\d+$/,
    message: /^matches no earlier/,
    stated: "A `tool_result` answers a `tool_use` before it",
  },
  {
    path: /\.type$/,
    message: /^belongs outside of this object$/,
    stated: "`type` stands beside `function`, `custom` and `json_schema`",
  },
  { path: /^top_logprobs$/, message: /^needs logprobs: true$/, stated: "`top_logprobs` needs `logprobs: true`" },
  {
    path: /^(max_tokens|reasoning_effort)$/,
    message: /^must be the same as/,
    stated: "`max_tokens` and `max_completion_tokens` agree where both are given, and so do",
  },
  { path: /^functions$/, message: /^is the old form of tools/, stated: "`functions` is not combined with `tools`" },
  { path: /^max_tool_calls$/, message: /^must be between 1 and 30$/, stated: "`max_tool_calls` is 1 to 30, unless" },
  { path: /^input\.\d+\.\w+$/, message: /^matches no earlier \w+$/, stated: "An output names a call before it" },
  {
    path: /^input\.\d+\.id$/,
    message: /^names no earlier item/,
    stated: "An `item_reference` names an item before it",
  },
  {
    path: /^input\.\d+$/,
    message: /^follows another configuration_update$/,
    stated: "no two `configuration_update` follow",
  },
  {
    path: /\.(name|server_label|type)$/,
    message: /is not among the tools$/,
    stated: "`tool_choice` names tools of the request",
  },
  {
    path: /^tool_choice$/,
    message: /needs at least one tool|while tools are deferred/,
    stated: "`tool_choice` names tools",
  },
  { path: /\.name$/, message: /is the name of an earlier tool$/, stated: "Names of tools differ" },
  { path: /\.name$/, message: /only one of several .* may lack a name$/, stated: "Names of tools differ" },
  {
    path: /inherited_function_names\.\d+$/,
    message: /is not among the functions$/,
    stated: "inherits functions of the request only",
  },
  {
    path: /\.defer_loading$/,
    message: /^needs a tool of type/,
    stated: "Deferred tools need",
  },
  {
    path: /^(tools|input)\./,
    message: /needs a sandbox, and this service has none/,
    stated: "need the sandbox of `sandbox.base_url` in the configuration file",
  },
  {
    path: /^(tools|tool_choice)\b.*\.type$/,
    message: /^unknown (tool )?type/,
    stated: "a tool of an unknown `type` is refused",
  },
  { path: /timezone$/, message: /must be an IANA time zone/, stated: "IANA name" },
  { path: /image_url$|file_data$|content\.\d+$/, message: /is required$/, stated: "An image, by image_url or file_id" },
  {
    path: /server_url$/,
    message: /^server_url, connector_id or tunnel_id is required$/,
    stated: "server_url, connector_id or tunnel_id",
  },
  { path: /excluded_x_handles$/, message: /^not together with/, stated: "exclude each other" },
  { path: /excluded_domains$/, message: /^not together with/, stated: "exclude each other" },
  {
    path: /(allowed|excluded)_models$|models$/,
    message: /characters in total$/,
    stated: "at most 65536 characters in total",
  },
  { path: /^plugins\.\d+$/, message: /is given twice$/, stated: "Each plugin is given once" },
  {
    path: /^plugins$/,
    message: /^alignment: /,
    stated: "that the service cannot decide itself need a judge",
  },
];

export const ruleOf = ({ path, message }: Problem): Rule | undefined =>
  requestRules.find((rule) => rule.path.test(path) && rule.message.test(message));
