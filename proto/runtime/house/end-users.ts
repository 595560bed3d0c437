/** `end_users`: what registration of end users decides. */
import { z } from "zod";

export const endUsers = z.strictObject({
  enforce: z
    .boolean()
    .default(false)
    .describe(
      "Whether requests of end users that are registered and not active are refused with 403. By default registration is a record and refuses nothing.",
    ),
});
