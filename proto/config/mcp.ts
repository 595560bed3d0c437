/** `mcp`: servers of the Model Context Protocol, called for requests with the tool `mcp`. */
import { z } from "zod";
import { callPricing } from "./scalars.ts";

const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text;

/** Header fields that HTTP or the MCP protocol sets itself. */
const ownFields =
  /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*|accept|accept-encoding|mcp-.*)$/i;

/** @returns why the header field cannot be sent to an MCP server; undefined when it can */
export function problemOfField(name: string, value: string): string | undefined {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/.test(name)) return `${JSON.stringify(name)} is no name of a header field`;
  if (ownFields.test(name)) return `${name} is set by Sluice`;
  return /^[\x20-\x7e\t]{0,8192}$/.test(value) ? undefined : `${name} has a value that no header field can have`;
}

/** Additional header fields of requests to a server; those set by HTTP or its protocol are refused. */
export const headerFields = z.record(z.string(), z.string()).superRefine((given, context) => {
  for (const [name, value] of Object.entries(given)) {
    const message = problemOfField(name, value);
    if (message !== undefined) context.addIssue({ code: "custom", message, path: [name] });
  }
});

const server = z.strictObject({
  url: z
    .url({ protocol: /^https?$/ })
    .describe("Address of its streamable HTTP endpoint. It may be private: the operator names it."),
  authorization: z
    .string()
    .min(1)
    .refine((value) => problemOfField("authorization", value) === undefined, "a value that a header field can have")
    .optional()
    .describe("Value of the header field Authorization, such as Bearer ${CRM_TOKEN}."),
  headers: headerFields.default({}).describe("Further header fields of every request to it."),
  pricing: callPricing("call of a tool").optional(),
});

export const mcp = z.strictObject({
  allow: z
    .array(z.union([z.literal("*"), z.string().refine(isOrigin, "an origin such as https://mcp.example.com, or *")]))
    .max(100)
    .default([])
    .describe(
      "Origins (scheme, host and port) that a request may name in server_url; their hosts may have private addresses, also where a provider calls them. * stands for every public https origin.",
    ),
  servers: z
    .record(z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "1 to 64 letters, digits, _ and -"), server)
    .default({})
    .describe("Servers that requests name by server_label or connector_id alone."),
});

export type McpSettings = z.infer<typeof mcp>;
