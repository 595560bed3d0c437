/** `end_users`: whether requests of inactive end users are refused. */
import { z } from "zod";

export const endUsers = z.strictObject({
  enforce: z
    .boolean()
    .default(false)
    .describe(
      "Whether requests of registered end users that are not active are refused with 403. By default, registration is only a record and refuses nothing.",
    ),
});
