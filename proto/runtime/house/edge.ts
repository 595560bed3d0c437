/** `host`, `compat` and `cors`: where clients reach the gateway, and how it bends to them. */
import { z } from "zod";
import { host as address } from "../config.ts";

export const host = address
  .optional()
  .describe(
    "Address on which the gateway listens, 0.0.0.0 for all of the machine; SLUICE_HOST wins. 127.0.0.1 under npm start when absent, all addresses in images. Read at the start only.",
  );

export const compat = z.strictObject({
  tool_type_aliases: z
    .array(z.string().regex(/^[a-z][a-z0-9_-]*:$/, 'a prefix such as "vendor:"'))
    .max(8)
    .default([])
    .describe(
      'Prefixes that mean the same as "service:" in types of tools and items; answers keep the spelling of the request.',
    ),
  fill_defaults: z
    .boolean()
    .default(false)
    .describe("Whether unset samplers are echoed as their defaults, for clients that do not take null."),
  emit_metadata_alias: z
    .string()
    .regex(/^[a-z][a-z0-9_]*$/)
    .nullable()
    .default(null)
    .describe(
      "A second name under which service_metadata is given; vendor_metadata is also asked for by X-Vendor-Metadata or X-Vendor-Experimental-Metadata.",
    ),
});

export const cors = z.strictObject({
  allow_origins: z
    .array(z.union([z.literal("*"), z.url({ protocol: /^https?$/ })]))
    .default([])
    .describe("Origins whose pages may call the gateway from a browser; none by default."),
});
