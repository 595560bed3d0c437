/** `permissions`: default permissions of keys, for lists that neither the key nor its workspace sets. */
import { z } from "zod";

export const permissions = z.strictObject({
  default: z
    .enum(["allow", "deny"])
    .default("allow")
    .describe(
      "Whether a key may use what neither its own permissions nor those of its workspace have a list for. With deny, such a key may use nothing, until lists name models, providers, doors and so on.",
    ),
});
