/**
 * `host`, `compat`, `responses`, `cors`, `trusted_proxies` and `log_client_addresses`: the address of the gateway, and
 * its behaviour towards clients.
 */
import { z } from "zod";
import { host as address } from "../lib/process/environment.ts";
import { network } from "./network.ts";

export const gatewayHost = address
  .optional()
  .describe(
    "Address on which the gateway listens; 0.0.0.0 means all addresses of the machine. SLUICE_HOST takes precedence. Default: 127.0.0.1 with npm start, all addresses in images. Read at the start only.",
  );

export const compat = z.strictObject({
  tool_type_aliases: z
    .array(z.string().regex(/^[a-z][a-z0-9_-]*:$/, 'a prefix such as "vendor:"'))
    .max(8)
    .default([])
    .describe(
      'Alternative prefixes to "service:" in types of tools and items; answers use the spelling of the request.',
    ),
  fill_defaults: z
    .boolean()
    .default(false)
    .describe("Whether unset samplers are echoed as their default values, for clients that reject null."),
  emit_metadata_alias: z
    .string()
    .regex(/^[a-z][a-z0-9_]*$/)
    .nullable()
    .default(null)
    .describe(
      "A second name for service_metadata in answers; vendor_metadata can also be requested with X-Vendor-Metadata or X-Vendor-Experimental-Metadata.",
    ),
});

export const responses = z.strictObject({
  remember_items: z
    .string()
    .regex(/^([1-9]\d{0,4}s|[1-9]\d{0,2}m|[1-9]h|1\d?h|2[0-4]?h)$/, "a time such as 30m or 1h, at most 24h")
    .optional()
    .describe(
      "How long the gateway remembers the items that it answered a key with, such as 1h, so that an `item_reference` of a later request can name them. Nothing is remembered when absent.",
    ),
});

export const trustedProxies = z
  .array(network)
  .max(100)
  .default([])
  .describe(
    "Addresses and networks of the proxies in front of the gateway. The address of a client, for limits and `allowed_networks` of keys, is then the last entry of X-Forwarded-For that is none of them; without proxies here the header is ignored.",
  );

export const logClientAddresses = z
  .boolean()
  .default(false)
  .describe(
    "Whether the line of each request in the gateway's log has the address of its client. Addresses are personal data.",
  );

export const cors = z.strictObject({
  allow_origins: z
    .array(z.union([z.literal("*"), z.url({ protocol: /^https?$/ })]))
    .default([])
    .describe("Origins of web pages that may call the gateway from a browser; none by default."),
});
