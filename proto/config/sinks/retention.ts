/** `retention`: the age at which admin-svc removes records and sums. */
import { z } from "zod";

const days = z
  .string()
  .regex(/^[1-9]\d{0,3}d$/, "days, such as 90d")
  .transform((text) => Number(text.slice(0, -1)));

export const retention = z
  .strictObject({
    ledger: days
      .optional()
      .describe("Age in days, in UTC, at which turns and their calls are removed, such as 90d; never when absent."),
    sums: days
      .optional()
      .describe(
        "Age in days at which sums by hour and day are removed, such as 400d; never when absent. Not less than `retention.ledger`.",
      ),
  })
  .superRefine(({ ledger = Infinity, sums = Infinity }, context) => {
    if (sums < ledger)
      context.addIssue({ code: "custom", path: ["sums"], message: "must not be shorter than retention.ledger" });
  })
  .prefault({})
  .describe("Removes old records every hour; without this section nothing is removed by itself.");

export type RetentionSettings = z.infer<typeof retention>;
