/** Value types shared by sections of the configuration file. */
import { z } from "zod";

export const slug = z.string().regex(/^[A-Za-z0-9][\w.:/@-]*$/, "letters, digits and . _ - : / @");
/** USD per million tokens as a decimal string: floats cannot represent prices exactly. */
export const price = z.string().regex(/^\d+(\.\d{1,12})?$/, 'a decimal string such as "0.25"');
export const modality = z.enum(["text", "image", "file", "audio", "video"]);
/** Forms of a model's answers; embeddings exclude all other forms. */
export const outputModality = z.enum([...modality.options, "embeddings"]);

/** USD per call of a service other than a model; bounded so that the sum over a request stays far below 64 bits. */
const callPrice = price.refine((text) => Number(text) <= 1_000, "at most 1000");

/** Prices of a service other than a model. @param call the billed unit, such as "search" */
export const callPricing = (call: string) =>
  z.strictObject({ request: callPrice.optional().describe(`USD per ${call}; free when absent.`) });

/** Prices of a vendor for searches and for reading pages. */
export const searchAndPagePricing = callPricing("search").extend({
  page: callPrice.optional().describe("USD per page; free when absent."),
});
