/** Value types shared by sections of the configuration file. */
import { z } from "zod";

export const slug = z.string().regex(/^[A-Za-z0-9][\w.:/@-]*$/, "letters, digits and . _ - : / @");
/** USD per million tokens as a decimal string: floats cannot represent prices exactly. */
export const price = z.string().regex(/^\d+(\.\d{1,12})?$/, 'a decimal string such as "0.25"');
export const modality = z.enum(["text", "image", "file", "audio", "video"]);
/** Kinds of output of a model; a model for embeddings has no other kind. */
export const outputModality = z.enum([...modality.options, "embeddings"]);

/**
 * Price in USD of one call to a service other than a model; limited, so the sum over a request fits into 64 bits.
 */
const callPrice = price.refine((text) => Number(text) <= 1_000, "at most 1000");

/** Prices of a service other than a model. @param call billed unit, such as "search" */
export const callPricing = (call: string) =>
  z.strictObject({ request: callPrice.optional().describe(`USD per ${call}; free when absent.`) });

/** Prices of a vendor per search and per page read. */
export const searchAndPagePricing = callPricing("search").extend({
  page: callPrice.optional().describe("USD per page; free when absent."),
});
