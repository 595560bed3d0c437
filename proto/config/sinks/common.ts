/** Settings shared by the entries of `alerts` and `exports`. */
import { z } from "zod";
import { parseWebhookSecret, secretBytes, secretPrefix } from "../../lib/webhooks/standard-webhook.ts";

export const sinkName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "1 to 64 letters, digits, _ and -");

export const httpUrl = z.url({ protocol: /^https?$/ });

/** Secret with which messages to a webhook are signed. */
export const webhookSecret = z
  .string()
  .refine(
    (text) => parseWebhookSecret(text) !== undefined,
    `${secretPrefix} and the base64 of ${secretBytes.min} to ${secretBytes.max} random bytes: openssl rand -base64 32`,
  );

export const webhook = z.strictObject({
  url: httpUrl.describe("Where messages are posted. It may be private: the operator names it."),
  secret: webhookSecret.describe(
    "Signs messages as Standard Webhooks says: whsec_ and the base64 of 24 to 64 random bytes.",
  ),
});

export const sinkWorkspace = z
  .string()
  .min(1)
  .optional()
  .describe("Name or id of the only workspace that is meant; every workspace when absent.");

/** @param kinds mutually exclusive settings; an entry has exactly one of them */
export const exactlyOne =
  (...kinds: readonly string[]) =>
  (entry: object, context: z.core.$RefinementCtx) => {
    const given = kinds.filter((kind) => (entry as Record<string, unknown>)[kind] !== undefined);
    if (given.length !== 1) context.addIssue({ code: "custom", message: `exactly one of ${kinds.join(", ")}` });
  };

/** Builds the schema of a list whose entries have distinct names. */
export const uniquelyNamedList = <Entry extends z.ZodType<{ readonly name: string }>>(entry: Entry) =>
  z
    .array(entry)
    .max(100)
    .superRefine((entries, context) => {
      const known = new Set<string>();
      for (const [index, { name: each }] of entries.entries()) {
        if (known.has(each))
          context.addIssue({ code: "custom", message: `${each} is used twice`, path: [index, "name"] });
        known.add(each);
      }
    })
    .default([]);
